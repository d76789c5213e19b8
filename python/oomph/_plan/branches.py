"""Which way a program is sent that asks for a truth value which only a GPU could have computed.

The question stands in a line of the program, and what hangs on the answer is written around it. A plan is to see what needs
most, and to come to an end: an assertion holds, what only raises an error or gives up is passed over, what works is done, and
a loop is gone through once.
"""

from __future__ import annotations

import ast

from .sources import Place, Sources, asker, holds

_JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Pass)


class Branches:
    """Answers, by the line that asks."""

    def __init__(self) -> None:
        self._sources = Sources()
        # How often a loop has asked whether it goes on.
        self._rounds: dict[tuple[str, int], int] = {}

    def answer(self) -> bool | None:
        """For whoever has called into this package; None where the line does not say what is better."""
        frame = asker()
        seen = self._sources.around(frame)
        if frame is None or seen is None:
            return None
        place, nodes = seen
        found = [
            (node, loop)
            for node, loop in nodes
            if isinstance(node, (ast.If, ast.While, ast.Assert)) and (_begins(node, place) or holds(node.test, place))
        ]
        if not found:
            return None
        test, loop = found[-1]
        upright = _is_upright(test.test, place, _begins(test, place))
        if upright is None or (isinstance(test, ast.If) and _is_coincidence(test.test)):
            return None
        wanted = self._wanted(test, loop, frame.f_code.co_filename)
        return None if wanted is None else wanted == upright

    def _wanted(self, test: ast.If | ast.While | ast.Assert, loop: ast.AST | None, name: str) -> bool | None:
        """What the whole condition is to be."""
        if isinstance(test, ast.Assert):
            return True
        if isinstance(test, ast.While):
            return self._is_odd(name, test.lineno)
        gives_up, otherwise = _gives_up(test.body), bool(test.orelse)
        if gives_up and isinstance(test.body[-1], ast.Break) and isinstance(loop, ast.While):
            # Nothing else may end that loop.
            return not self._is_odd(name, test.lineno)
        if gives_up:
            return None if otherwise and _gives_up(test.orelse) else False
        return True if not otherwise or _gives_up(test.orelse) else None

    def _is_odd(self, name: str, line: int) -> bool:
        rounds = self._rounds.get((name, line), 0) + 1
        self._rounds[name, line] = rounds
        return rounds % 2 == 1


def _begins(node: ast.stmt, place: Place) -> bool:
    """Whether it is the whole statement that asks: Python says so where it jumps, up to 3.11 at least."""
    return place == (node.lineno, node.col_offset)


def _is_upright(test: ast.expr, place: Place, is_whole: bool) -> bool | None:
    """Whether the condition is true where what is asked is, and not where it is not; None where that cannot be told."""
    upright = True
    while True:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            upright, test = not upright, test.operand
        elif isinstance(test, ast.BoolOp) and (is_whole or place[1] is None):
            # It is one of these. They are no help where they point different ways.
            ways = {_is_upright(value, place, is_whole) for value in test.values}
            way = ways.pop()
            return None if ways or way is None else upright == way
        elif isinstance(test, ast.BoolOp):
            inner = next((value for value in test.values if holds(value, place)), None)
            if inner is None:
                return upright
            test = inner
        else:
            return upright


def _is_coincidence(test: ast.expr) -> bool:
    """Whether two values would have to be the same: perhaps those that nobody knows."""
    return any(isinstance(node, ast.Compare) and any(isinstance(each, ast.Eq) for each in node.ops) for node in ast.walk(test))


def _gives_up(body: list[ast.stmt]) -> bool:
    """Whether statements only end something: an error, or a jump with next to nothing before it."""
    if any(isinstance(statement, ast.Raise) for statement in body):
        return True
    *before, last = body
    return isinstance(last, _JUMPS) and all(_is_a_word(statement) for statement in before)


def _is_a_word(statement: ast.stmt) -> bool:
    """Something that is said or noted: `print(…)`, `logger.warning(…)`, `done = True`."""
    if isinstance(statement, ast.Assign):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Call, ast.Constant))
