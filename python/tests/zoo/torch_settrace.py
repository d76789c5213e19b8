"""A tracer that counts the lines of this file while it trains, and a profiler that names its functions."""
# gpu: yes
import sys

import torch

lines, names = [], []


def trace(frame, event, argument):
    if frame.f_code.co_filename != __file__:
        return None
    lines.append(frame.f_lineno)
    return trace


def train():
    weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        weight.sum().backward()
        optimizer.step()


sys.settrace(trace)
train()
sys.settrace(None)
sys.setprofile(lambda frame, event, argument: names.append(frame.f_code.co_name) if frame.f_code.co_filename == __file__ else None)
train()
sys.setprofile(None)
print(lines, names)
