"""
Claim: The forward pass fits, so training fits.
Ruling: false
Why: Training keeps activations for backward, makes gradients as large as the weights, and Adam's two moments. Try two
    whole steps, or `oomph plan`.
Topic: Training
"""

import json

import torch

MIB = 2**20

model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
optimizer = torch.optim.Adam(model.parameters(), foreach=False)
batch = torch.ones(2048, 2048, device="cuda")

with torch.no_grad():
    model(batch)
    torch.cuda.reset_peak_memory_stats()
    model(batch)
forward = torch.cuda.max_memory_allocated() / MIB
for _ in range(2):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
training = torch.cuda.max_memory_allocated() / MIB

assert training > 2.5 * forward
print(json.dumps({"most in use in the forward pass": forward, "most in use in training": training}))
