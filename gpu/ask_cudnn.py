"""Asks cuDNN which engines it would choose for convolutions, with their settings: on a real GPU, or about a card that is
only described.

    python gpu/ask_cudnn.py [--seconds 60] < questions.txt

A question is a line as the phantom's process is asked (crates/phantom/src/cudnn/engines.rs), or one of those that a plan
writes with OOMPH_PHANTOM_LOG=conv. The answer has of each engine its number, what it works in by its configuration and by
its plan, and its settings. The first line is how cuDNN describes the card. With such a description in CARD_JSON that card is
asked about, and none needs to be there; CUDNN is the library then.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import time
from ctypes import byref, c_int, c_int64, c_void_p
from typing import Any

MOST = 2


class Cudnn:
    """Descriptors of cuDNN's graph interface."""

    def __init__(self, path: str, card: str | None) -> None:
        self.lib = ctypes.CDLL(path)
        self.handle = c_void_p()
        self.card: c_void_p | None = None
        # How it describes the card, once a plan was made.
        self.profile: dict[str, Any] | None = None
        if card is None:
            assert self.lib.cudnnCreate(byref(self.handle)) == 0
            return
        text = card.encode() + b"\0"
        self.card = self.made(38, [(2702, 24, len(text), ctypes.create_string_buffer(text))])

    def made(self, kind: int, attributes: list[tuple[int, int, int, Any]]) -> c_void_p:
        it = c_void_p()
        assert self.lib.cudnnBackendCreateDescriptor(kind, byref(it)) == 0
        for name, type_, count, value in attributes:
            code = self.lib.cudnnBackendSetAttribute(it, name, type_, c_int64(count), value)
            assert code == 0, (kind, name, code)
        code = self.lib.cudnnBackendFinalize(it)
        if code != 0:
            raise ValueError(f"{kind}: {code}")
        return it

    def drop(self, *all_: c_void_p) -> None:
        for it in all_:
            self.lib.cudnnBackendDestroyDescriptor(it)

    def parts(self, of: c_void_p, attribute: int, kind: int, most: int) -> list[c_void_p]:
        count = c_int64()
        self.lib.cudnnBackendGetAttribute(of, attribute, 15, c_int64(0), byref(count), None)
        room = min(count.value, most)
        made = []
        for _ in range(room):
            it = c_void_p()
            self.lib.cudnnBackendCreateDescriptor(kind, byref(it))
            made.append(it)
        array = (c_void_p * max(room, 1))(*made)
        self.lib.cudnnBackendGetAttribute(of, attribute, 15, c_int64(room), byref(count), array)
        return [c_void_p(array[at]) for at in range(min(room, count.value))]

    def number(self, of: c_void_p, attribute: int, type_: int = 3) -> int:
        count, found = c_int64(), c_int64(-1)
        self.lib.cudnnBackendGetAttribute(of, attribute, type_, c_int64(1), byref(count), byref(found))
        return found.value if type_ == 3 else found.value & 0xFFFFFFFF

    def engines(self, line: str) -> str:
        mode, direction, kind, xd, xs, wd, ws, yd, ys, pads, strides, dilations = line.split(";")
        wide = lambda text: [int(word) for word in text.split(",")]
        numbers = lambda values: (c_int64 * len(values))(*values)
        one = lambda it: (c_void_p * 1)(it)
        data = c_int(int(kind))

        def tensor(dims: str, steps: str, name: str) -> c_void_p:
            sizes, places = wide(dims), wide(steps)
            return self.made(17, [
                (901, 1, 1, byref(data)), (902, 3, len(sizes), numbers(sizes)), (903, 3, len(places), numbers(places)),
                (906, 3, 1, numbers([ord(name)])), (900, 3, 1, numbers([32])),
            ])  # fmt: skip

        x, w, y = tensor(xd, xs, "x"), tensor(wd, ws, "w"), tensor(yd, ys, "y")
        before, moved, dilated = wide(pads), wide(strides), wide(dilations)
        rank = len(before)
        moves = self.made(1, [
            (100, 1, 1, byref(c_int(0))), (101, 7, 1, byref(c_int(1))), (106, 3, 1, numbers([rank])), (105, 3, rank, numbers(before)),
            (104, 3, rank, numbers(before)), (102, 3, rank, numbers(dilated)), (103, 3, rank, numbers(moved)),
        ])  # fmt: skip
        operation, names = {"0": (10, (702, 703, 704, 705)), "1": (12, (708, 709, 710, 711)), "2": (11, (714, 715, 716, 717))}[direction]
        scale = lambda value: byref(ctypes.c_float(value))
        op = self.made(operation, [
            (names[0] - 2, 4, 1, scale(1.0)), (names[0] - 1, 4, 1, scale(0.0)), (names[0], 15, 1, one(moves)),
            (names[1], 15, 1, one(w)), (names[2], 15, 1, one(x)), (names[3], 15, 1, one(y)),
        ])  # fmt: skip
        given = [(801, 15, 1, one(op))]
        if self.card is None:
            given.insert(0, (800, 0, 1, byref(self.handle)))
        graph = self.made(15, given)
        asked = [(201, 15, 1, one(graph)), (200, 8, 1, byref(c_int(int(mode))))]
        if self.card is not None:
            asked.append((204, 15, 1, one(self.card)))
        try:
            heuristics = self.made(4, asked)
        except ValueError as error:
            return f"none {error}"
        told = []
        for configuration in self.parts(heuristics, 202, 3, MOST):
            told.append(self.told(configuration))
            self.drop(configuration)
        self.drop(heuristics, graph, op, moves, x, w, y)
        return " ".join(told)

    def told(self, configuration: c_void_p) -> str:
        """Its number, what it works in by its configuration and by its plan, and its settings."""
        (engine,) = self.parts(configuration, 300, 2, 1)
        number, offered = self.number(engine, 1301), self.number(configuration, 303)
        self.drop(engine)
        try:
            plan = self.plan(configuration)
        except ValueError as error:
            return f"{number}:{offered}:{error}:"
        described = json.loads(self.text(plan, 405))
        self.profile = described["GPUProfile"]
        settings = described["engine"]["knobChoices"]
        works_in = self.number(plan, 402)
        self.drop(plan)
        return f"{number}:{offered}:{works_in}:" + ",".join(f"{name[16:]}={value}" for name, value in settings.items())

    def plan(self, configuration: c_void_p) -> c_void_p:
        where = (400, 0, 1, byref(self.handle)) if self.card is None else (407, 15, 1, (c_void_p * 1)(self.card))
        return self.made(5, [(401, 15, 1, (c_void_p * 1)(configuration)), where])

    def text(self, of: c_void_p, attribute: int) -> str:
        count = c_int64()
        self.lib.cudnnBackendGetAttribute(of, attribute, 24, c_int64(0), byref(count), None)
        text = ctypes.create_string_buffer(max(count.value, 1) + 8)
        self.lib.cudnnBackendGetAttribute(of, attribute, 24, c_int64(count.value), byref(count), text)
        return text.value.decode(errors="replace")


TYPES = {"fp32": 0, "fp64": 1, "fp16": 2, "bf16": 9}
DIRECTIONS = ["forward", "data", "filter"]


def question(line: str) -> str:
    """A line of the phantom's log as a question."""
    words = line.removeprefix("oomph conv: ").split()
    parts = dict(word.split("=") for word in words[3:])

    def steps(sizes: list[int]) -> list[int]:
        # From the innermost dimension outwards.
        order = [1, *range(len(sizes) - 1, 1, -1), 0] if words[2] == "nhwc" else [*range(len(sizes) - 1, -1, -1)]
        found, step = [0] * len(sizes), 1
        for at in order:
            found[at], step = step, step * sizes[at]
        return found

    asked = ["0", str(DIRECTIONS.index(words[0])), str(TYPES[words[1]])]
    listed = lambda numbers: ",".join(map(str, numbers))
    for name in "xwy":
        sizes = [int(size) for size in parts[name].split("x")]
        asked += [listed(sizes), listed(steps(sizes))]
    return ";".join(asked + [parts[name].replace("x", ",") for name in ("pad", "stride", "dilation")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1e9, help="ask no more after so long")
    options = parser.parse_args()
    card = os.environ.get("CARD_JSON")
    path = os.environ.get("CUDNN")
    if path is None:
        import torch

        torch.zeros(1, device="cuda")
        torch.backends.cudnn.version()
        path = os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia", "cudnn", "lib", "libcudnn.so.9")
        if not os.path.exists(path):
            path = "libcudnn.so.9"
    cudnn = Cudnn(path, card)
    said = False
    began = time.monotonic()
    for line in sys.stdin:
        if time.monotonic() - began > options.seconds:
            break
        line = line.strip() if ";" in line else question(line)
        answer = cudnn.engines(line)
        if not said and cudnn.profile is not None:
            print("#", json.dumps(cudnn.profile, separators=(",", ":")))
            said = True
        print(line, answer)


if __name__ == "__main__":
    main()
