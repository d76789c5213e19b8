"""sys.meta_path is replaced by finders of the program's own before torch is imported."""
# gpu: yes
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

sys.meta_path[:] = [BuiltinImporter, FrozenImporter, PathFinder]
import torch

print(torch.ones(1024, device="cuda").shape)
