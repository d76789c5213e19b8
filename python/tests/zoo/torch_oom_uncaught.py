"""Memory runs out and nobody catches it; an excepthook of the program's own prints it."""
# gpu: yes
# verdict: yes
import sys

import torch

sys.excepthook = lambda kind, error, trace: print("hook:", kind.__name__)
held = []
while True:
    held.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
