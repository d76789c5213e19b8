"""`oomph.free()`: gives back the GPU memory that an error left behind, and says who holds the rest."""

from __future__ import annotations

import builtins
import gc
import sys
from collections.abc import Callable
from typing import Any

from oomph import _holders
from oomph._errors import clear_frames, is_out_of_memory
from oomph._free_report import FreeReport, Memory, Stage
from oomph._recorder import alive
from oomph._recorder.cells import ipython_shell

_LAST = ("last_exc", "last_value", "last_traceback", "last_type")


def free(verbose: bool = True, *, workspaces: bool = False) -> FreeReport:
    """Drops what keeps GPU memory alive after an error, stage by stage, and measures what each stage gave.

    In this order: the frames of the last exception, and of every error that is still kept somewhere and says that
    memory ran out; the results that IPython keeps (`Out`, `_`, `_3`); reference cycles; with `workspaces` cuBLAS's
    workspaces, which are made again when they are needed; PyTorch's cache.

    With `verbose` the tensors that are left are traced to the variables that hold them, and the report is printed to
    standard error, except where Python is used interactively and shows the result itself.
    """
    torch = sys.modules.get("torch")
    usable = torch is not None and hasattr(torch, "cuda") and torch.cuda.is_initialized()
    before = _memory(torch) if usable else ()
    found = before
    stages: list[Stage] = []
    work: list[tuple[str, Callable[[], str]]] = [
        ("the last exception", _drop_exceptions),
        ("IPython's results", _drop_results),
        ("reference cycles", _drop_cycles),
    ]
    if usable and workspaces:
        work.append(("cuBLAS workspaces", lambda: _drop_workspaces(torch)))
    if usable:
        work.append(("PyTorch's cache", lambda: _drop_cache(torch)))
    collects = gc.isenabled()
    # A collection in between would count the cycles under another stage.
    gc.disable()
    try:
        for name, drop in work:
            note = drop()
            left = _memory(torch) if usable else ()
            stages.append(Stage(name, note, _less(found, left, "allocated"), _less(found, left, "reserved")))
            found = left
    finally:
        if collects:
            gc.enable()
    freed = FreeReport(_why_none(torch, usable), before, found, tuple(stages))
    if verbose:
        freed = freed.with_holdings(_holders.find(torch) if usable else _holders.NONE)
        if not _shows_results():
            print(freed, file=sys.stderr)
    return freed


def _memory(torch: Any) -> tuple[Memory, ...]:
    devices = range(torch.cuda.device_count())
    return tuple(Memory(n, torch.cuda.memory_allocated(n), torch.cuda.memory_reserved(n)) for n in devices)


def _less(before: tuple[Memory, ...], after: tuple[Memory, ...], counter: str) -> int:
    total = sum(getattr(memory, counter) for memory in before)
    return int(total - sum(getattr(memory, counter) for memory in after))


def _why_none(torch: Any, usable: bool) -> str | None:
    if usable:
        return None
    if torch is None:
        return "torch is not imported, so it holds no GPU memory here"
    if not hasattr(torch, "cuda") or not torch.cuda.is_available():
        return "there is no GPU that torch can use"
    return "torch has not used a GPU yet"


def _shows_results() -> bool:
    """Whether what a call gives is shown without being printed."""
    return hasattr(sys, "ps1") or ipython_shell() is not None


def _drop_exceptions() -> str:
    """The exceptions that Python, IPython and the program keep. One that a running `except` handles stays, but the frames
    below that function are cleared."""
    kept: list[BaseException] = []
    for name in _LAST:
        value = getattr(sys, name, None)
        if isinstance(value, BaseException):
            kept.append(value)
        # Each may be missing: some exist from Python 3.12 on, all only after an error.
        if hasattr(sys, name):
            delattr(sys, name)
    handled = sys.exc_info()[1]
    if handled is not None:
        kept.append(handled)
    shell = ipython_shell()
    result = getattr(shell, "last_execution_result", None)
    for name in ("error_in_exec", "error_before_exec"):
        value = getattr(result, name, None)
        if isinstance(value, BaseException):
            kept.append(value)
            setattr(result, name, None)
    for name in ("InteractiveTB", "SyntaxTB"):
        formatter = getattr(shell, name, None)
        for slot in ("tb", "pdb"):
            if getattr(formatter, slot, None) is not None:
                setattr(formatter, slot, None)
    # Errors that variables keep: their frames are of no more use than those of the last one.
    kept += [error for error in alive.instances(BaseException) if is_out_of_memory(error)]
    frames = clear_frames(kept)
    return f"{frames} frame{'s' * (frames != 1)} cleared"


def _drop_results() -> str:
    """What the interactive shell keeps of past results, and nothing that the user named so."""
    shell = ipython_shell()
    if shell is None:
        # Python's own prompt keeps the last result; gettext keeps a function there.
        if hasattr(sys, "ps1") and not callable(getattr(builtins, "_", None)):
            builtins.__dict__.pop("_", None)
        return "not in use"
    names, hook = shell.user_ns, shell.displayhook
    for name in ("_", "__", "___"):
        if name in names and getattr(hook, name, None) is names[name]:
            names[name] = ""
            setattr(hook, name, "")
    results = names.get("_oh") or {}
    count = len(results)
    for number, value in list(results.items()):
        for where in (names, shell.user_ns_hidden):
            if where.get(f"_{number}") is value:
                del where[f"_{number}"]
    results.clear()
    # The result of the last cell is in that cache, and is kept here as well.
    last = getattr(shell, "last_execution_result", None)
    if last is not None:
        last.result = None
    return f"{count} dropped"


def _drop_cycles() -> str:
    count = gc.collect()
    return f"{count} object{'s' * (count != 1)} collected"


def _drop_workspaces(torch: Any) -> str:
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if clear is None:
        return "this PyTorch cannot drop them"
    clear()
    return "dropped"


def _drop_cache(torch: Any) -> str:
    torch.cuda.empty_cache()
    return "given back to the driver"
