"""What `oomph.free()` found, freed and left, and its report."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass, replace

from oomph._holders import Holder, Holdings
from oomph._oomph import format_size

_WIDTH = 80
# The width of an amount, such as `100.00 MiB`.
_AMOUNT = 10
# The holders that the report names; the others are summed up.
_NAMED = 12
# Cells of tables: amounts stay whole, and words wrap where a screen is narrow, whatever the notebook's own rules are.
NUMBER = "text-align:right;vertical-align:top;white-space:nowrap"
TEXT = "text-align:left;vertical-align:top;white-space:normal;overflow-wrap:anywhere"
_CUT = "The search for holders was cut short: there are too many objects."


@dataclass(frozen=True)
class Memory:
    """What PyTorch holds on one device, in bytes."""

    device: int
    allocated: int
    reserved: int

    def sentence(self) -> str:
        cached = format_size(self.reserved - self.allocated)
        return f"still held on GPU {self.device}: {format_size(self.allocated)}, {cached} cached"


@dataclass(frozen=True)
class Stage:
    """One stage, and how many bytes fewer were held after it, on all devices together."""

    name: str
    note: str
    allocated: int
    reserved: int


@dataclass(frozen=True)
class FreeReport:
    """What `oomph.free()` did. Printed, it is the report. It keeps no tensor alive."""

    # Why there is nothing to measure; None where there is.
    nothing: str | None
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]
    stages: tuple[Stage, ...]
    # Who holds what is left, the largest first; empty where nobody looked.
    holders: tuple[Holder, ...] = ()
    # Bytes allocated that belong to no tensor that Python knows, by device; empty where nobody looked.
    unseen: tuple[tuple[int, int], ...] = ()
    # Whether the search for holders was cut short.
    cut: bool = False

    @property
    def allocated(self) -> int:
        """How many bytes of tensors were freed."""
        return sum(stage.allocated for stage in self.stages)

    @property
    def reserved(self) -> int:
        """How many bytes went back to the driver, for other programs to use."""
        return sum(stage.reserved for stage in self.stages)

    def with_holdings(self, holdings: Holdings) -> FreeReport:
        """The same, with who holds what is left."""
        unseen = {memory.device: memory.allocated for memory in self.after}
        for holder in holdings.holders:
            unseen[holder.device] = unseen.get(holder.device, 0) - holder.bytes
        return replace(self, holders=holdings.holders, unseen=tuple(sorted(unseen.items())), cut=holdings.cut)

    def _headline(self) -> str:
        if self.nothing is not None:
            return f"no GPU memory to free: {self.nothing}"
        text = f"freed {format_size(self.allocated)} of tensors; {format_size(self.reserved)} went back to the driver"
        return text if self.allocated or self.reserved else "nothing could be freed"

    def _stages(self) -> list[tuple[str, str, str]]:
        if self.nothing is not None:
            return [("", stage.name, stage.note) for stage in self.stages]
        # The cache holds no tensors: what it gives is what goes back.
        amounts = [stage.allocated or stage.reserved for stage in self.stages]
        return [(format_size(amount), stage.name, stage.note) for amount, stage in zip(amounts, self.stages)]

    def _left(self) -> list[tuple[Memory, list[tuple[str, str]]]]:
        left = []
        for memory in self.after:
            if memory.reserved == 0:
                continue
            of_device = [holder for holder in self.holders if holder.device == memory.device]
            rows = [(format_size(holder.bytes), f"{holder.path}: {holder.what}") for holder in of_device[:_NAMED]]
            rest = sum(holder.bytes for holder in of_device[_NAMED:])
            if rest:
                rows.append((format_size(rest), f"{len(of_device) - _NAMED} more"))
            unseen = dict(self.unseen).get(memory.device, 0)
            if unseen > 0:
                rows.append((format_size(unseen), "no tensor of Python's: kept for backward, workspaces, rounding"))
            left.append((memory, rows))
        return left

    def __str__(self) -> str:
        lines = [self._headline()]
        width = 0 if self.nothing is not None else _AMOUNT
        lines += [f"  {amount:>{width}}  {name}: {note}" for amount, name, note in self._stages()]
        for memory, rows in self._left():
            lines.append(memory.sentence())
            for amount, text in rows:
                first, rest = f"  {amount:>{_AMOUNT}}  ", " " * (_AMOUNT + 4)
                lines += textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
        if self.cut:
            lines.append(_CUT)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def row(*cells: str) -> str:
            first, *rest = cells
            text = "".join(f"<td style='{TEXT}'>{html.escape(cell)}</td>" for cell in rest)
            return f"<tr><td style='{NUMBER}'>{html.escape(first)}</td>{text}</tr>"

        parts = [f"<div><p><b>{html.escape(self._headline())}</b></p>"]
        parts.append("<table>" + "".join(row(*stage) for stage in self._stages()) + "</table>")
        for memory, rows in self._left():
            parts.append(f"<p>{memory.sentence()}</p><table>" + "".join(row(*cells) for cells in rows) + "</table>")
        if self.cut:
            parts.append(f"<p>{_CUT}</p>")
        return "".join(parts) + "</div>"
