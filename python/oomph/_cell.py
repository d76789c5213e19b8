"""`%%oomph`: a cell, measured. Its first line becomes `%oomph cell`, and the rest of the cell stays as it is: so it may do
whatever a cell may do (wait at its top level, end in a value or a semicolon), and its lines keep their numbers. What was
measured is shown when the shell says that the cell has ended."""

from __future__ import annotations

import contextlib
import html
import sys
from typing import TYPE_CHECKING, Any

from oomph import _peak
from oomph._errors import is_out_of_memory
from oomph._free_report import NUMBER, TEXT
from oomph._oomph import format_size
from oomph._recorder.cells import Quotes
from oomph._recorder.clock import now

if TYPE_CHECKING:
    from oomph.notebook import Notebook

# The word of `%oomph` that measures from there to the end of its cell.
MEASURE = "cell"
_NO_RECORD: dict[str, Any] = {"segments": [], "device_traces": []}
# Lines that are shown of a cell, and the width of an amount, such as `100.00 MiB`.
_LINES = 8
_AMOUNT = 10


def with_its_first_line_changed(lines: list[str], transform: Any) -> list[str]:
    """The lines of a cell, those of `%%oomph` as said above. Other cells are left alone."""
    if not lines or lines[0].strip() != "%%oomph" or not "".join(lines[1:]).strip():
        return lines
    rest = lines[1:]
    # A second magic of the cell has to be in its first line to be one: it becomes a call here.
    if next(line for line in rest if line.strip()).startswith("%%"):
        rest = transform("".join(rest).lstrip()).splitlines(keepends=True)
    return [f"%oomph {MEASURE}\n", *rest]


class MeasuredCell:
    """What is known of the cell under way since `%oomph cell`."""

    def __init__(self, notebook: Notebook, info: Any) -> None:
        # The shell's own description of the run: cells that this one runs have another.
        self.info = info
        self._notebook = notebook
        self._torch = sys.modules.get("torch")
        self._recording = contextlib.ExitStack()
        self._before: list[dict[str, int]] = []
        if self._torch is not None:
            self._recording.enter_context(_peak.recording(self._torch))
            self._recording.enter_context(notebook.every_stack())
            self._before = _counters(self._torch)
        self._start = now()

    def end(self, error: BaseException | None) -> None:
        """Shows what the cell used. Of one that ran out of memory the notebook takes the verdict, while the record is there."""
        with self._recording:
            if error is not None:
                if is_out_of_memory(error):
                    self._notebook.note_failure(error)
                return
            if self._torch is None:
                print("oomph: torch was not imported before this cell, so it was not recorded", file=sys.stderr)
                return
            after = _counters(self._torch, reset=False)
            record = self._torch.cuda.memory._snapshot() if _peak.is_recording(self._torch) else _NO_RECORD
        if not after:
            print("oomph: there is no GPU that torch can use; the cell ran without one", file=sys.stderr)
            return
        Quotes().name_stacks(record)
        _show(self._before, after, _peak.lines(_peak.since(record, self._start)))


def display_card(text: str, page: str) -> None:
    """Shows a fragment of HTML, or the text where none can be shown."""
    from IPython.display import display

    display({"text/plain": text, "text/html": page}, raw=True)


def _show(before: list[dict[str, int]], after: list[dict[str, int]], lines: list[_peak.Line]) -> None:
    text, page = [], []
    for device, (old, new) in enumerate(zip(before, after)):
        if not new["reserved"]:
            continue
        retries = new["retries"] - old["retries"]
        used, reserved = format_size(new["allocated"]), format_size(new["reserved"])
        summary = f"GPU {device}: peak in use {used}, held {reserved}, {retries} retries"
        held = [line for line in lines if line.device == device][:_LINES]
        rows = [str(line).strip().partition("  ") for line in held]
        width = max((len(size) for size, _, _ in rows), default=0)
        text += [summary, *(f"  {size:>{max(width, _AMOUNT)}}  {place}" for size, _, place in rows)]
        table = "".join(
            f"<tr><td style='{NUMBER}'>{size}</td><td style='{TEXT}'>{html.escape(place)}</td></tr>" for size, _, place in rows
        )
        page.append(f"<p><b>{summary}</b></p><table>{table}</table>")
    if not text:
        text, page = ["no GPU memory was used"], ["<p>no GPU memory was used</p>"]
    display_card("\n".join(text), "".join(page))


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
