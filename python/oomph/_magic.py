"""`%oomph` and `%%oomph`."""

from __future__ import annotations

import ast
import html
import re
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from oomph import _peak
from oomph._errors import is_out_of_memory
from oomph._oomph import format_size
from oomph._recorder.cells import Quotes, name_of
from oomph._recorder.clock import now

if TYPE_CHECKING:
    from oomph.notebook import Notebook

_HELP = """\
%oomph           the last verdict in a line, or the GPU memory in use now
%oomph explain   the last verdict in full
%oomph free      give back what an error left behind; see who holds the rest
%oomph status    who holds this machine's memory, GPU and host
%%oomph          on a cell's first line: run it, then show its peak and lines
"""
_NO_RECORD: dict[str, Any] = {"segments": [], "device_traces": []}
# Lines that are shown of a cell.
_LINES = 8


class Magic:
    """The magic of one notebook."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook

    def run(self, line: str, cell: str | None = None) -> Any:
        """`%oomph` explains, frees and tells; `%oomph help` lists what it can."""
        __tracebackhide__ = True
        verbs = {"": self._now, "explain": self._explain, "free": self._free, "status": self._status, "help": self._help}
        word = line.strip()
        if cell is not None and not word:
            return self._cell(cell)
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

    def _cell(self, cell: str) -> Any:
        """Runs the cell as if it stood alone: its last value is the result, its error is the cell's."""
        __tracebackhide__ = True
        torch = sys.modules.get("torch")
        if torch is None:
            value = self._run(cell)
            print("oomph: torch was not imported before this cell, so it was not recorded", file=sys.stderr)
            return value
        with _peak.recording(torch), self._notebook.every_stack():
            before = _counters(torch)
            start = now()
            try:
                value = self._run(cell)
            except Exception as error:
                if is_out_of_memory(error):
                    self._notebook.note_failure(error)
                raise
            after = _counters(torch, reset=False)
            record = torch.cuda.memory._snapshot() if _peak.is_recording(torch) else _NO_RECORD
        if not after:
            print("oomph: there is no GPU that torch can use; the cell ran without one", file=sys.stderr)
            return value
        Quotes().name_stacks(record)
        self._show(before, after, _peak.lines(_peak.since(record, start)))
        return value

    def _run(self, cell: str) -> Any:
        __tracebackhide__ = True
        shell = self._notebook.shell
        # The magic itself stands in the first line. Cached, so that a traceback can show its lines.
        text = "\n" + shell.transform_cell(cell)
        name = shell.compile.cache(text, self._number(), raw_code=cell)
        tree = shell.transform_ast(ast.parse(text, name))
        value = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), shell.user_global_ns, shell.user_ns)
        if value is None:
            return None
        return eval(compile(ast.Expression(value.value), name, "eval"), shell.user_global_ns, shell.user_ns)

    def _number(self) -> int:
        """The number of the cell under way. Shells differ in when they count it, but its frame is below this one."""
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            name = re.fullmatch(r"In\[(\d+)\]", name_of(frame.f_code.co_filename))
            if name:
                return int(name[1])
            frame = frame.f_back
        return int(self._notebook.shell.execution_count)

    def _show(self, before: list[dict[str, int]], after: list[dict[str, int]], lines: list[_peak.Line]) -> None:
        from oomph.notebook import show

        text, page = [], []
        for device, (old, new) in enumerate(zip(before, after)):
            if not new["reserved"]:
                continue
            retries = new["retries"] - old["retries"]
            used, reserved = format_size(new["allocated"]), format_size(new["reserved"])
            summary = f"GPU {device}: peak in use {used}, held {reserved}, {retries} retries"
            held = [line for line in lines if line.device == device][:_LINES]
            text += [summary, *(f"  {line}" for line in held)]
            cells = (str(line).strip().partition("  ") for line in held)
            rows = "".join(
                f"<tr><td style='text-align:right'>{size}</td><td style='text-align:left'>{html.escape(place)}</td></tr>"
                for size, _, place in cells
            )
            page.append(f"<p><b>{summary}</b></p><table>{rows}</table>")
        if not text:
            text, page = ["no GPU memory was used"], ["<p>no GPU memory was used</p>"]
        show("\n".join(text), "".join(page))


def _counters(torch: Any, reset: bool = True) -> list[dict[str, int]]:
    """The peaks and retries of each device; with `reset` the peaks begin anew."""
    if not torch.cuda.is_initialized():
        return []
    found = []
    for device in range(torch.cuda.device_count()):
        stats = torch.cuda.memory_stats(device)
        if reset:
            torch.cuda.reset_peak_memory_stats(device)
        found.append(
            {
                "allocated": stats.get("allocated_bytes.all.peak", 0),
                "reserved": stats.get("reserved_bytes.all.peak", 0),
                "retries": stats.get("num_alloc_retries", 0),
            }
        )
    return found


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
