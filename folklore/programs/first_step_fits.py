"""
Claim: If the first step fits, all steps fit.
Ruling: false
Why: The optimizer makes its state at the end of the first step, so the second begins with more in use. Try two steps
    before you go home, and the longest batch among them.
Topic: Training
"""

import json

import torch

MIB = 2**20

model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048, device="cuda") for _ in range(4)])
optimizer = torch.optim.Adam(model.parameters(), foreach=False)
peaks = []
for step in range(4):
    torch.cuda.reset_peak_memory_stats()
    model(torch.ones(8192, 2048, device="cuda")).sum().backward()
    optimizer.step()
    peaks.append(torch.cuda.max_memory_allocated() / MIB)
    optimizer.zero_grad()

states = sum(tensor.nbytes for state in optimizer.state.values() for tensor in state.values() if tensor.is_cuda) / MIB
assert peaks[1] - peaks[0] >= 128, "from the second step on the state of Adam is there too"
assert peaks[1] == peaks[2] == peaks[3]
print(json.dumps({
    "most in use in step 1": peaks[0],
    "step 2": peaks[1],
    "step 4": peaks[3],
    "state of Adam": states,
}))
