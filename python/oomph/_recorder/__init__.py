"""Records a process for oomph: what its allocator did, what the program was doing, what the machine had.

Nothing here imports a framework: it waits until the program does. Nothing here may break the program: a failure of
the recorder is one line on standard error, and the program goes on.

This folder is also what `oomph run` lends to programs whose environment has no oomph, under another name. So it
imports nothing of oomph but itself, by relative imports, and nothing but the standard library.
"""

from __future__ import annotations

import os

from . import complaint

__all__ = ["start"]


def start() -> None:
    """Records this process into the run folder that OOMPH_RUN names, once; without OOMPH_RUN it does nothing."""
    folder = os.environ.get("OOMPH_RUN")
    # A folder that is gone belongs to a run that is over: the variable has outlived it.
    if not folder or not os.path.isdir(folder):
        return
    try:
        from . import files, process

        if not files.is_ours(folder):
            complaint.once("this process is not recorded", f"{folder} belongs to another user")
            return
        process.begin(folder)
    except Exception as error:
        complaint.once("the recorder could not start", error, "the script runs without it")
