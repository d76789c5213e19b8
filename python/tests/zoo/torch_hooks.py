"""Hooks of every kind, printed in their order; one of them raises and one removes itself."""
# gpu: yes
import torch

model = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid())
weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
model.register_forward_pre_hook(lambda *_: print("forward pre"))
model.register_forward_hook(lambda *_: print("forward"))
model.register_full_backward_hook(lambda *_: print("backward"))
weight.register_hook(lambda gradient: print("gradient"))
weight.register_post_accumulate_grad_hook(lambda _: print("accumulated"))
optimizer.register_step_pre_hook(lambda *_: print("step pre"))
handle = optimizer.register_step_post_hook(lambda *_: (print("step post"), handle.remove())[0])
for _ in range(2):
    model(weight * 1).sum().backward()
    optimizer.step()


def fails(*_):
    raise ValueError("in a hook")


optimizer.register_step_pre_hook(fails)
try:
    optimizer.step()
except ValueError as error:
    print(error)
