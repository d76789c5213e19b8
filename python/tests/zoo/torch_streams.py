"""Streams and events, tensors that are used on another stream, empty_cache in a loop, a memory pool."""
# gpu: yes
import torch

stream = torch.cuda.Stream()
event = torch.cuda.Event(enable_timing=False)
for step in range(5):
    with torch.cuda.stream(stream):
        x = torch.empty(1 << 20, device="cuda")
        event.record()
    event.synchronize()
    x.record_stream(torch.cuda.current_stream())
    del x
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    y = torch.empty(1 << 20, device="cuda")
print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved())
