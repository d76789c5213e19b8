"""A backward pass that fails and is caught; what the traceback says of the program's own lines."""
# gpu: yes
import traceback

import torch

x = torch.ones(4, device="cuda", requires_grad=True)
y = (x * x).sum()
y.backward()
try:
    y.backward()
except RuntimeError as error:
    print(str(error)[:40], [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__])
