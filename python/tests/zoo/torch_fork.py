"""Forks after CUDA has started: the child may not use it, and ends with the error that PyTorch raises."""
# gpu: yes
import os

import torch

held = torch.ones(1024, device="cuda")
child = os.fork()
if child == 0:
    try:
        torch.ones(1, device="cuda")
    except RuntimeError as error:
        print(str(error)[:40], flush=True)
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
