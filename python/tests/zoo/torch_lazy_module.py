"""A lazy module, whose parameters are made when it first sees data, under an optimizer."""
# gpu: yes
import torch


class Lazy(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.parameter.UninitializedParameter(device="cuda")

    def initialize_parameters(self, x):
        self.weight.materialize(x.shape[-1:])

    def forward(self, x):
        return x * self.weight


class Never(Lazy):
    pass


model, never = Lazy(), Never()
never.eval()
model(torch.ones(2, 64, device="cuda")).sum().backward()
optimizer = torch.optim.SGD([*model.parameters()], lr=0.1)
for _ in range(3):
    optimizer.step()
print(model, never, model.weight.shape, model.weight.grad.shape)
