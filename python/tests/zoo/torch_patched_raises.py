"""What a recorder would ask is replaced by what raises: the program does not ask it."""
# gpu: yes
import torch


def raises(*args, **kwargs):
    raise RuntimeError("not to be called")


weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))
torch.cuda.memory_stats = torch.cuda.mem_get_info = torch.cuda.memory._snapshot = raises
torch.Tensor.data_ptr = torch.Tensor.element_size = raises
optimizer = torch.optim.Adam([weight])
for _ in range(3):
    weight.sum().backward()
    optimizer.step()
print("trained")
