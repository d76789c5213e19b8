"""A TorchFunctionMode and a TorchDispatchMode that count everything, active to the end of the program."""
# gpu: yes
import atexit

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

functions, operations = [], []


class Functions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        functions.append(function)
        return function(*args, **(kwargs or {}))


class Operations(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        operations.append(function)
        return function(*args, **(kwargs or {}))


weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
atexit.register(lambda: print(len(functions), len(operations)))
Functions().__enter__()
Operations().__enter__()
for _ in range(4):
    weight.sum().backward()
    optimizer.step()
