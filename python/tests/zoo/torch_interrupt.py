"""KeyboardInterrupt in the middle of training that nobody catches: Python ends by the signal itself."""
# gpu: yes
import torch

weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))
weight.sum().backward()
print("before", flush=True)
raise KeyboardInterrupt
