"""Tensor subclasses that raise at nearly everything, as parameters, gradients and in globals."""
# gpu: yes
import torch


class Raises(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError(f"no {function}")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))
        self.register_buffer("odd", torch.ones(1024, device="cuda").as_subclass(Raises), persistent=False)


model = Model()
held = [torch.ones(1 << 20, device="cuda").as_subclass(Raises) for _ in range(3)]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model.weight.sum().backward()
    optimizer.step()
print("trained")
