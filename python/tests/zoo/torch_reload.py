"""Modules of torch are reloaded and taken out of sys.modules."""
# gpu: yes
import importlib
import sys

import torch

importlib.reload(torch.cuda.memory)
importlib.reload(sys.modules["torch.optim.sgd"])
del sys.modules["torch.cuda.memory"]
weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
weight.sum().backward()
optimizer.step()
print("trained")
