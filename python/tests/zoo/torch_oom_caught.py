"""Memory runs out, the program catches it, frees what it has and goes on with less."""
# gpu: yes
import torch

held = []
try:
    while True:
        held.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
except torch.OutOfMemoryError as error:
    print(type(error).__name__, str(error)[:40])
held.clear()
torch.cuda.empty_cache()
for _ in range(200):
    held = torch.empty(1 << 20, device="cuda")
print(torch.cuda.memory_allocated())
