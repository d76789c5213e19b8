"""The two sources of each program: broken and cured, with `CURED` settled in the text, line for line.

    python verdicts/sources.py FOLDER    # writes FOLDER/broken/*.py and FOLDER/cured/*.py
"""

from __future__ import annotations

import ast
import pathlib
import sys

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


def settled(source: str, cured: bool) -> str:
    """The source with every question about CURED answered."""
    tree = ast.parse(source)
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and asks(unwrapped(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    places = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        and (asks(node) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names))
    ]
    lines = source.splitlines(keepends=True)
    for node in sorted(places, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        assert node.end_lineno == node.lineno and node.end_col_offset is not None
        line = lines[node.lineno - 1].encode()
        lines[node.lineno - 1] = (line[: node.col_offset] + str(cured).encode() + line[node.end_col_offset :]).decode()
    return "".join(lines)


def asks(node: ast.expr) -> bool:
    """Whether it is `os.environ.get("CURED")`, or the same in other words."""
    match node:
        case ast.Call(func=ast.Attribute(attr="get" | "getenv"), args=[ast.Constant(value="CURED"), *_]):
            return True
        case ast.Compare(left=ast.Constant(value="CURED"), ops=[ast.In()]):
            return True
    return False


def unwrapped(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Name(id="bool"), args=[inner]):
            return inner
        case ast.Compare(left=inner, comparators=[ast.Constant(), *_]):
            return inner
    return node


def write(folder: pathlib.Path) -> None:
    """All programs, broken and cured, below a folder."""
    for name, cured in (("broken", False), ("cured", True)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for path in sorted(PROGRAMS.glob("*.py")):
            (folder / name / path.name).write_text(settled(path.read_text(), cured))


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
