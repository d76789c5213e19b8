"""Optimizers of its own: one without super().__init__, one whose groups lack params, one that is no Optimizer."""
# gpu: yes
import torch

weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))


class Bare(torch.optim.Optimizer):
    def __init__(self, params):
        self.params = list(params)

    def step(self, closure=None):
        return "stepped"


class NoParams(torch.optim.SGD):
    def step(self, closure=None):
        result = super().step(closure)
        self.param_groups.append({"lr": 1})
        try:
            return result
        finally:
            self.param_groups.pop()


class Duck:
    param_groups = property(lambda self: 1 / 0)

    def step(self):
        return "duck"


for optimizer in (Bare([weight]), NoParams([weight], lr=0.1), Duck()):
    for _ in range(3):
        weight.sum().backward()
        print(type(optimizer).__name__, optimizer.step())
broken = torch.optim.SGD([weight], lr=0.1)
broken.param_groups.append({})
try:
    broken.step()
except KeyError as error:
    print("KeyError", error)
