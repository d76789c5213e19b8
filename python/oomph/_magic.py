"""`%oomph` and `%%oomph`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from oomph._cell import MEASURE
from oomph._oomph import format_size

if TYPE_CHECKING:
    from oomph.notebook import Notebook

_HELP = """\
%oomph           the last verdict in a line, or the GPU memory in use now
%oomph explain   the last verdict in full
%oomph free      give back what an error left behind; see who holds the rest
%oomph status    who holds this machine's memory, GPU and host
%%oomph          on a cell's first line: run it, then show its peak and lines
"""


class Magic:
    """The magic of one notebook."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook

    def run(self, line: str, cell: str | None = None) -> Any:
        """`%oomph` explains, frees and tells; `%oomph help` lists what it can."""
        verbs = {
            "": self._now, "explain": self._explain, "free": self._free, "status": self._status, "help": self._help,
            MEASURE: self._notebook.measure_cell,
        }  # fmt: skip
        word = line.strip()
        if cell is not None and not word:
            # The notebook changes a typed `%%oomph` before it comes here; this one was called by name.
            self._notebook.shell.run_cell(f"%oomph {MEASURE}\n{cell}")
            return None
        if cell is None and word in verbs:
            return verbs[word]()
        from IPython.core.error import UsageError

        if cell is not None:
            raise UsageError(f"%%oomph takes no words behind it, not `{word}`: it runs the cell and shows its peak")
        import difflib

        near = difflib.get_close_matches(word, verbs, 1)
        hint = f"; did you mean `%oomph {near[0]}`?" if near else ""
        raise UsageError(f"%oomph knows no `{word}`{hint} (see `%oomph help`)")

    def _now(self) -> None:
        last = self._notebook.last
        print(last.text.splitlines()[0] if last is not None else "\n".join(_in_use()))

    def _explain(self) -> Any:
        from oomph.explain import explain

        return self._notebook.last or explain()

    def _free(self) -> Any:
        from oomph.free import free

        return free()

    def _status(self) -> Any:
        from oomph.status import status

        return status()

    def _help(self) -> None:
        print(_HELP, end="")


def _in_use() -> list[str]:
    torch = sys.modules.get("torch")
    if torch is None:
        return ["torch is not imported: no GPU memory is in use by it"]
    if not torch.cuda.is_initialized():
        return ["torch has not used a GPU: no GPU memory is in use by it"]
    lines = []
    for device in range(torch.cuda.device_count()):
        used = format_size(torch.cuda.memory_allocated(device))
        held = format_size(torch.cuda.memory_reserved(device))
        total = format_size(torch.cuda.get_device_properties(device).total_memory)
        lines.append(f"GPU {device}: {used} in use, {held} held of {total}; no failure so far")
    return lines
