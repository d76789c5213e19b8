"""gc is off, with callbacks that count; weak references to tensors; nothing is kept alive by others."""
# gpu: yes
import gc
import sys
import weakref

import torch

gc.disable()
gc.collect()
seen = []
gc.callbacks.append(lambda phase, info: seen.append(phase))
weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
gone = []
for _ in range(6):
    loss = weight.sum()
    weakref.finalize(loss, gone.append, 1)
    loss.backward()
    optimizer.step()
    del loss
print(len(gone), seen, sys.getrefcount(weight), len(gc.garbage))
reference = weakref.ref(optimizer)
del optimizer
gc.collect()
print(reference())
