"""Will it fit, with no GPU: `oomph plan`, from Python.

    oomph.plan("train.py", "--batch", "64", gpu="T4").fits
    oomph.plan(train, gpu="T4")            # a function of a module: called without arguments, in a process of its own
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from oomph import _oomph
from oomph._oomph import OomphError


# The phantom GPU of this package.
_LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "liboomph_phantom.so")


@dataclasses.dataclass(frozen=True)
class Plan:
    """The answer for one card; `data` has all that `oomph plan --json` says."""

    data: dict[str, Any]

    @property
    def gpu(self) -> str:
        """The card."""
        return str(self.data["gpu"])

    @property
    def fits(self) -> bool | None:
        """Whether it fits; None: cannot tell, and `data["why_not"]` says why."""
        found: bool | None = self.data["fits"]
        return found

    @property
    def peak_reserved(self) -> int | None:
        """The most that PyTorch holds, in bytes."""
        found: int | None = self.data["peak_reserved"]
        return found

    @property
    def process_bytes(self) -> int | None:
        """The same with the CUDA context, which is the largest that was seen on such cards."""
        found: int | None = self.data["process_bytes"]
        return found

    def __str__(self) -> str:
        headline, why_not = self.data["headline"], self.data["why_not"]
        return headline if why_not is None else f"{headline}: {why_not}"


def plan(
    what: str | os.PathLike[str] | Callable[[], object],
    *args: str,
    gpu: str,
    options: bool = False,
    nproc: int | None = None,
    nnodes: int | None = None,
) -> Plan:
    """Runs a script, or a function without arguments, on a phantom GPU, which counts memory and computes nothing.

    `args` are the script's own. `options`: also try changes, such as bf16 autocast, where it does not fit.
    `nproc`, `nnodes`: it is a rank of a distributed job, with so many on a node and so many nodes; the others are not there.
    A function has to be one that another process can import: of a module or of a script, not a lambda, not of a notebook.
    """
    words = [*_target(what), *args]
    if callable(what) and args:
        raise TypeError("oomph.plan: arguments are for scripts; a function is called without any")
    world = (nproc, nnodes)
    document = _oomph.plan(words, gpu=gpu, python=sys.executable, library=_LIBRARY, changes=options, world=world)
    return Plan(json.loads(document))


def _target(what: str | os.PathLike[str] | Callable[[], object]) -> list[str]:
    """The words that name it on the command line."""
    if not callable(what):
        return [os.fspath(what)]
    name, module = getattr(what, "__qualname__", ""), getattr(what, "__module__", "")
    if not name or "<" in name or "." in name:
        raise OomphError(
            f"oomph.plan: {name or what!r} cannot be imported by another process: give a function at the top of a module"
        )
    if module == "__main__":
        script = getattr(sys.modules["__main__"], "__file__", None)
        if script is None or not os.path.exists(script):
            raise OomphError(
                f"oomph.plan: {name} lives in this notebook or terminal only: write it to a file and name that"
            )
        load = f"import runpy; found = runpy.run_path({os.path.abspath(script)!r}, run_name='planned')[{name!r}]"
    else:
        place = os.path.dirname(os.path.abspath(inspect.getfile(what)))
        top = os.path.abspath(os.path.join(place, *[os.pardir] * module.count(".")))
        load = f"import sys; sys.path.insert(0, {top!r}); from {module} import {name} as found"
    return ["-c", f"{load}; found()"]
