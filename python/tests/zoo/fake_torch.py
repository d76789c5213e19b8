"""A module called torch that is none: a stub as tests of libraries have it."""
import pathlib
import sys

pathlib.Path("torch.py").write_text("__version__ = '0.0'\ndef empty(*_): return 'stub'\n")
sys.path.insert(0, "")
import torch

print(torch.empty(3), torch.__file__)
