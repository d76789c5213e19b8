"""
Claim: Jupyter keeps my tensors: `_` and `Out` hold them.
Ruling: true when a cell ends with the tensor itself
Why: What a cell's last line shows is kept in `Out`, and in `_`. End the line with `;` or show a number. To let go,
    use `%xdel x` instead of `del x`, or `oomph.free()`.
Topic: Letting go
"""

import gc
import json

import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.io import capture_output

MIB = 2**20

shell = InteractiveShell.instance()
shell.user_ns["make"] = lambda: torch.ones(64, MIB // 4, device="cuda")


def in_use_after(*cells: str) -> float:
    with capture_output():
        for cell in cells:
            shell.run_cell(cell, store_history=True).raise_error()
    gc.collect()
    return torch.cuda.memory_allocated() / MIB


showed_shape = in_use_after("x = make()\nx.shape", "del x")
showed_and_xdel = in_use_after("x = make()\nx", "%xdel x")
showed_and_del = in_use_after("x = make()\nx", "del x")

assert showed_shape == 0, "a shape keeps nothing"
assert showed_and_xdel == 0, "%xdel looks in Out as well"
assert showed_and_del == 64, "del does not"
print(json.dumps({
    "in use after `x.shape` was shown, and `del x`": showed_shape,
    "after `x` was shown, and `%xdel x`": showed_and_xdel,
    "after `x` was shown, and `del x`": showed_and_del,
}))
