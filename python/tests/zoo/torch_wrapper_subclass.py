"""A wrapper subclass without memory of its own, whose __torch_dispatch__ prints what is called."""
# gpu: yes
import torch


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype, device=inner.device)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        print("dispatch", function)
        inner = [a.inner if isinstance(a, Wrapper) else a for a in args]
        out = function(*inner, **(kwargs or {}))
        return Wrapper(out) if isinstance(out, torch.Tensor) else out

    def __repr__(self):
        return "Wrapper"


x = Wrapper(torch.ones(1 << 16, device="cuda"))
y = x + 1
kept = {"x": x, "y": y, "meta": torch.empty(5, device="meta")}
weight = torch.nn.Parameter(torch.ones(4, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    weight.sum().backward()
    optimizer.step()
print(kept)
