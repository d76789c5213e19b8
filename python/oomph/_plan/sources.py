"""The lines of the program that are running, as their own source tells them."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from types import FrameType

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Line and column, or a line alone.
Place = tuple[int, "int | None"]
# A node, and the loop of its function that it is in.
Found = tuple[ast.AST, "ast.AST | None"]
# Functions within functions: a helper of the program that calls a library's, and the like.
_CALLERS = 4


class Sources:
    """Files that were parsed."""

    def __init__(self) -> None:
        self._trees: dict[str, tuple[ast.Module | None, int]] = {}

    def _tree(self, frame: FrameType) -> ast.Module | None:
        """Of the file that a frame runs; None where there is none."""
        name = frame.f_code.co_filename
        lines = linecache.getlines(name, frame.f_globals)
        known = self._trees.get(name)
        # Cells of a notebook are lines that may become others.
        if known is None or known[1] != len(lines):
            try:
                known = ast.parse("".join(lines)) if lines else None, len(lines)
            except (SyntaxError, ValueError, RecursionError):
                known = None, len(lines)
            self._trees[name] = known
        return known[0]

    def ends_in_an_error(self, frame: FrameType | None) -> bool:
        """Whether it is an error for a frame that its iterator has no more: it has written `next(iterator)`, and neither it
        nor who called it catches that."""
        found = self.around(frame)
        if found is None or not any(_is_next(node) for node, _ in found[1]):
            return False
        for _ in range(_CALLERS):
            if frame is None or found is None:
                break
            if any(isinstance(node, ast.Try) and _catches(node) for node, _ in found[1]):
                return False
            frame = frame.f_back
            found = self.around(frame)
        return True

    def around(self, frame: FrameType | None) -> tuple[Place, list[Found]] | None:
        """Where a frame is, and what of its source is around that; None where either is unknown."""
        tree = None if frame is None else self._tree(frame)
        place = None if frame is None else _place_of(frame)
        return None if tree is None or place is None else (place, _around(tree, place))


def asker() -> FrameType | None:
    """The frame that has called into this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def _place_of(frame: FrameType) -> Place | None:
    """Where it is: the expression that it computes, where Python tells (3.11 and later)."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is not None:
        # Two bytes an instruction.
        for index, (line, _, column, _) in enumerate(positions()):
            if index == frame.f_lasti // 2 and line is not None:
                return line, column
    line = frame.f_lineno
    return None if line is None else (line, None)


def holds(node: ast.AST, place: Place) -> bool:
    """Whether a node has that place."""
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if first is None or last is None:
        # A module, or what has no place of its own.
        return True
    line, column = place
    if column is None:
        return bool(first <= line <= last)
    return bool((first, node.col_offset) <= (line, column) < (last, node.end_col_offset))  # type: ignore[attr-defined]


def _around(tree: ast.AST, place: Place) -> list[Found]:
    """The nodes that have a place, the outermost first, each with the loop of its function that it is in."""
    found: list[Found] = []
    waiting: list[Found] = [(tree, None)]
    while waiting:
        node, loop = waiting.pop()
        found.append((node, loop))
        if isinstance(node, (ast.While, ast.For, ast.AsyncFor)):
            loop = node
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            loop = None
        waiting += [(child, loop) for child in ast.iter_child_nodes(node) if holds(child, place)]
    return found


def _is_next(node: ast.AST) -> bool:
    """`next(iterator)`, without what is to be given at its end; or the method."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id == "next" and len(node.args) == 1
    return isinstance(node.func, ast.Attribute) and node.func.attr == "__next__"


def _catches(node: ast.Try) -> bool:
    """Whether it handles the end of an iterator."""
    kinds = [handler.type for handler in node.handlers]
    names = [ast.unparse(kind) for kind in kinds if kind is not None]
    return None in kinds or any(word in name for name in names for word in ("StopIteration", "Exception"))
