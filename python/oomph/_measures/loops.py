"""What a loop counts, by reading it: a program that decides by the number of batches would decide otherwise if these came
in parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any


def why_counted(frame: Any) -> str | None:
    """Why the loop around the line that a frame is at minds the number of its batches; None where nothing shows that."""
    try:
        with open(frame.f_code.co_filename, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, ValueError, SyntaxError):
        return "the loop's source cannot be read"
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.For, ast.While)) and node.lineno <= frame.f_lineno <= (node.end_lineno or 0)
    ]
    if not around:
        return "there is no loop around accumulate"
    loop = max(around, key=lambda node: node.lineno)
    if not (isinstance(loop, ast.For) and _is_plain(loop.iter)):
        return "how the loop takes its batches is not known"
    counted = set(_counted(loop))
    for node in ast.walk(tree):
        if counted & set(_deciding(node)):
            return f"the loop counts batches, and line {getattr(node, 'lineno', 0)} decides by it"
    return None


def _is_plain(source: ast.expr) -> bool:
    """A loader by its name, or one within `enumerate` or `tqdm`."""
    if isinstance(source, ast.Call):
        return _name(source.func) in ("enumerate", "tqdm") and bool(source.args) and _is_plain(source.args[0])
    return isinstance(source, (ast.Name, ast.Attribute))


def _counted(loop: ast.For) -> Iterator[str]:
    """Names that tell which batch it is."""
    is_numbered = any(_name(node) == "enumerate" for node in ast.walk(loop.iter))
    if is_numbered and isinstance(loop.target, ast.Tuple) and isinstance(loop.target.elts[0], ast.Name):
        yield loop.target.elts[0].id
    updates = {id(inner) for node in ast.walk(loop) if _is_for_updates(node) for inner in ast.walk(node)}
    for node in ast.walk(loop):
        if id(node) in updates:
            continue
        targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            name = _name(target)
            adds_up = isinstance(node, ast.AugAssign) or name in map(_name, ast.walk(node.value))  # type: ignore[attr-defined]
            # What is added up of losses decides nothing, unless it is compared.
            if name is not None and adds_up:
                yield name


def _is_for_updates(node: ast.AST) -> bool:
    """`if accelerator.sync_gradients:`, whose body runs once an update."""
    return isinstance(node, ast.If) and any(
        isinstance(inner, ast.Attribute) and inner.attr == "sync_gradients" for inner in ast.walk(node.test)
    )


def _deciding(node: ast.AST) -> Iterator[str]:
    """Names by which something is decided: in conditions and comparisons, and what a remainder is taken of."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        tests: list[ast.AST] = [node.test]
    elif isinstance(node, ast.Compare) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)):
        tests = [node]
    else:
        return
    for test in tests:
        for inner in ast.walk(test):
            name = _name(inner)
            if name is not None:
                yield name


def _name(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
