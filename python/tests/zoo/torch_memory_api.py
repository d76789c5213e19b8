"""PyTorch's own counters, their names, peaks that are set back, a fraction, a summary, an empty snapshot."""
# gpu: yes
import torch

x = torch.ones(1 << 20, device="cuda")
del x
print(torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated(), torch.cuda.memory_reserved())
torch.cuda.reset_peak_memory_stats()
print(torch.cuda.max_memory_allocated(), sorted(torch.cuda.memory_stats().items()))
torch.cuda.reset_accumulated_memory_stats()
torch.cuda.set_per_process_memory_fraction(0.5)
print(torch.cuda.memory_summary(), torch.cuda.get_allocator_backend(), torch.cuda.memory_usage.__name__)
print(len(torch.cuda.memory_snapshot()), torch.cuda.mem_get_info())
try:
    torch.empty(12 << 30, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    print("beyond the fraction")
for _ in range(50):
    torch.ones(1024, device="cuda")
