"""A backward pass that fails, and nobody catches it: the traceback is the program's and PyTorch's."""
# gpu: yes
# differs: the recorder's own function stands in the traceback, between Tensor.backward and torch.autograd.backward
import torch

x = torch.ones(4, device="cuda", requires_grad=True)
y = (x * x).sum()
y.backward()
y.backward()
