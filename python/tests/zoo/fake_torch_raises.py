"""A module called torch whose import fails, which the program expects; jax is None in sys.modules."""
import pathlib
import sys

pathlib.Path("torch.py").write_text("raise RuntimeError('no torch here')\n")
sys.path.insert(0, "")
for _ in range(2):
    try:
        import torch
    except RuntimeError as error:
        print(error)
sys.modules["jax"] = None
try:
    import jax
except ImportError as error:
    print(error)
