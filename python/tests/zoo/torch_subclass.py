"""A tensor subclass that counts what is done with it; so many calls must be the program's own."""
# gpu: yes
import torch


class Counted(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        Counted.calls.append(getattr(function, "__name__", str(function)))
        return super().__torch_function__(function, types, args, kwargs or {})


weight = torch.nn.Parameter(torch.ones(1 << 16, device="cuda").as_subclass(Counted))
model = torch.nn.Module()
model.weight = weight
optimizer = torch.optim.Adam([weight])
for _ in range(4):
    optimizer.zero_grad()
    (weight * 2).sum().backward()
    optimizer.step()
kept = weight.detach()
print(len(Counted.calls), sorted(set(Counted.calls)), type(weight).__name__)
