"""
Claim: More RAM in the computer helps against CUDA out of memory.
Ruling: true when you move something there
Why: CUDA's memory is on the card; a request that does not fit fails the same with any RAM. RAM helps once activations
    or optimizer state are kept in it (`save_on_cpu`, offloading), and then the copies cost time.
Topic: Host memory
"""

import json
import resource

import torch

MIB = 2**20

model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)]).cuda()
batch = torch.ones(16384, 512, device="cuda")


def train() -> str:
    model.zero_grad()
    try:
        model(batch).sum().backward()
    except torch.OutOfMemoryError:
        return "out of memory"
    return "runs"


torch.cuda.set_per_process_memory_fraction(300 * MIB / torch.cuda.get_device_properties(0).total_memory)
with_much_ram = train()
with open("/proc/self/statm") as file:
    in_ram = int(file.read().split()[5]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_DATA, (in_ram + 1024 * MIB, resource.RLIM_INFINITY))
with_little_ram = train()
with torch.autograd.graph.save_on_cpu():
    offloaded = train()

assert with_much_ram == with_little_ram == "out of memory", "RAM alone changes nothing"
assert offloaded == "runs", "activations in RAM let it run"
print(json.dumps({
    "limit on the card": 300,
    "all the computer's RAM": with_much_ram,
    "at most 1024 MiB more of RAM": with_little_ram,
    "the same, activations kept in RAM": offloaded,
}))
