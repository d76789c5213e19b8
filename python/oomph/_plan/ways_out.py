"""Leaving a loop that has shown what it needs, as a debugger's `jump` does it: its frame goes on behind it.

Only where something of the program stands behind the loop, and where no `with` or `try` between would be left without being
asked. A loop is left where an iteration begins, so the one before is whole.
"""

from __future__ import annotations

import ast
import dis
import enum
import itertools
import os
import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

from .sources import Sources

_LIBRARIES = ("site-packages", "dist-packages", f"{os.sep}lib{os.sep}python")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# One loop is left so often; then the one around it is.
MOST_TIMES = 2

# A loop: its file and line.
Key = tuple[str, int]


class Way(enum.Enum):
    """What became of leaving a loop: it is left, nothing stands behind it, or there is no way out."""

    LEFT = "left"
    END = "end"
    NONE = "none"


class WaysOut:
    """Leaves loops around a line of the program that was reached."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._times: dict[Key, int] = {}
        # Frames that are to jump: from the first instruction of their loop's body, to this line.
        self._waiting: dict[FrameType, _Jump] = {}

    def leave(self, frame: FrameType | None) -> Way:
        """The innermost loop around what runs, or the one around that where it was left often, is left when it begins its
        next iteration."""
        if self._waiting:
            return Way.LEFT
        if sys.gettrace() is not None:
            return Way.NONE
        jumps: dict[FrameType, _Jump] = {}
        for each, path in self._paths(frame):
            for jump in _jumps(each, path):
                if jump.line is None:
                    return Way.END if self._is_last(each, jump.path) else Way.NONE
                # It takes the place of one for a loop within the same frame.
                jumps[each] = jump
                if self._times.get(jump.key, 0) < MOST_TIMES:
                    for left in jumps.values():
                        self._times[left.key] = self._times.get(left.key, 0) + 1
                    self._begin(jumps)
                    return Way.LEFT
        return Way.NONE

    def _paths(self, frame: FrameType | None) -> Iterator[tuple[FrameType, list[ast.AST]]]:
        """The program's own frames, the innermost first, each with the nodes of its function that it is in."""
        while frame is not None:
            if not any(part in frame.f_code.co_filename for part in _LIBRARIES):
                found = self._sources.around(frame)
                if found is not None:
                    yield frame, _own_part([node for node, _ in found[1]])
            frame = frame.f_back

    def _is_last(self, frame: FrameType, path: list[ast.AST]) -> bool:
        """Whether nothing stands behind a loop of a frame, nor behind the calls that led there."""
        callers = [path for _, path in self._paths(frame.f_back)]
        return all(_after(around, node) is None for path in [path, *callers] for around, node in itertools.pairwise(path))

    def _begin(self, jumps: dict[FrameType, _Jump]) -> None:
        self._waiting = jumps
        for frame in jumps:
            frame.f_trace = self._at_event
        sys.settrace(_pass_over)

    def _at_event(self, frame: FrameType, event: str, _: Any) -> Any:
        jump = self._waiting.get(frame)
        if jump is not None and not jump.is_over(frame, event):
            if event != "line" or frame.f_lasti != jump.start:
                return self._at_event
            try:
                with warnings.catch_warnings():
                    # Variables that the loop had not yet set are None behind it.
                    warnings.simplefilter("ignore", RuntimeWarning)
                    frame.f_lineno = jump.line  # type: ignore[misc]
            except ValueError:
                # It goes on, and is left as often as it may be.
                pass
        self._waiting.pop(frame, None)
        if not self._waiting:
            sys.settrace(None)
        frame.f_trace = None
        return None


def _jumps(frame: FrameType, path: list[ast.AST]) -> list[_Jump]:
    """Out of each loop that a frame is in, the innermost first."""
    loops = [index for index, node in enumerate(path) if isinstance(node, _LOOPS)]
    return [_Jump(frame, path[: index + 1]) for index in reversed(loops)]


class _Jump:
    """Out of one loop."""

    def __init__(self, frame: FrameType, path: list[ast.AST]) -> None:
        loop: Any = path[-1]
        self.key = frame.f_code.co_filename, int(loop.lineno)
        self.path = path
        self.line = _line_behind(path)
        self._last = loop.end_lineno
        first = loop.body[0].lineno
        # A line may be reached again within an iteration, as that of a `with` is at its end.
        self.start = min((at for at, its in dis.findlinestarts(frame.f_code) if its == first), default=-1)

    def is_over(self, frame: FrameType, event: str) -> bool:
        """Whether the loop has come to its own end."""
        line = frame.f_lineno
        return event == "return" or line is None or not self.key[1] <= line <= self._last


def _pass_over(*_: Any) -> None:
    """Other frames are not followed."""


def _own_part(path: list[ast.AST]) -> list[ast.AST]:
    """Of the nodes around a line, the outermost first, those of its own function or of the module."""
    functions = [index for index, node in enumerate(path) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))]
    return path[functions[-1] :] if functions else path


def _line_behind(path: list[ast.AST]) -> int | None:
    """The line that follows the last of these nodes, each of which is around the next; None where there is none that could be
    jumped to."""
    node = path[-1]
    for around in reversed(path[:-1]):
        if isinstance(node, _LOOPS) and node.orelse:
            return int(node.orelse[0].lineno)
        following = _after(around, node)
        if following is not None:
            return following
        if not isinstance(around, (*_LOOPS, ast.If)):
            return None
        node = around
    return None


def _after(around: ast.AST, node: ast.AST) -> int | None:
    """The line of the statement behind another in the same block."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(around, field, None)
        if isinstance(block, list) and node in block[:-1]:
            after = block[block.index(node) + 1]
            return int(min([after.lineno, *(each.lineno for each in getattr(after, "decorator_list", []))]))
    return None
