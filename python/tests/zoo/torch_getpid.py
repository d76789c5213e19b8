"""os.getpid says something else from here on, and json, pickle and open are patched as tests do it."""
# gpu: yes
import builtins
import json
import os
import pickle

import torch

held = torch.ones(1024, device="cuda")


def noisy(*args, **kwargs):
    os.write(1, b"noisy\n")
    raise OSError("patched")


os.getpid = lambda: 42
json.dumps = pickle.dump = builtins.open = noisy
print("patched")
