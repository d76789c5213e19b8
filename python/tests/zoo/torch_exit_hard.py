"""Ends with os._exit in the middle of training: nobody is told."""
# gpu: yes
# recording: none
import os

import torch

held = torch.ones(1024, device="cuda")
print("trained", flush=True)
os._exit(6)
