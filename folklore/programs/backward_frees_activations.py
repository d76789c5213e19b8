"""
Claim: `backward()` frees the activations.
Ruling: true
Why: Each layer's are freed as soon as its gradient is computed, without `del` and without `empty_cache()`. What grows
    from step to step is something else, such as a result kept in a list.
Topic: Training
"""

import json

import torch

MIB = 2**20

model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
batch = torch.ones(4096, 1024, device="cuda")
model(batch).sum().backward()  # gradients exist, cuBLAS has its workspaces
before = torch.cuda.memory_allocated()


def more() -> float:
    return (torch.cuda.memory_allocated() - before) / MIB


loss = model(batch).sum()
after_forward = more()
loss.backward()
after_backward = more()

assert after_forward >= 7 * 16, "the inputs of 7 layers, 16 MiB each"
assert after_backward < 0.01, "the loss alone, which still has a name"
print(json.dumps({
    "more in use after the forward pass": after_forward,
    "more in use after `backward()`": after_backward,
}))
