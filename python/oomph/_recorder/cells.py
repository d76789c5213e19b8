"""The cells of a notebook. Python knows them by files that do not exist, people by their numbers: `In[3]`."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterator
from typing import Any

NAME = re.compile(r"In\[\d+\]")
# The lines that a recording quotes are cut here.
LONGEST = 200


def ipython_shell() -> Any:
    """The shell of IPython that this process runs in; None where it runs in none."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None


def name_of(file: str) -> str:
    """`In[3]` for the file that IPython makes of the third cell; any other file as it is. A cell that was run again with
    the same text may have the number of its last run."""
    known = getattr(getattr(ipython_shell(), "compile", None), "format_code_name", lambda name: None)(file)
    return str(known[1]) if known else file


def line_of(file: str, line: int) -> str:
    """What a line says; empty where its file is not there. IPython keeps what cells say where Python looks for it."""
    return linecache.getline(file, line).strip()[:LONGEST]


def named(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same stack, with cells called as the notebook calls them."""
    return [{**frame, "filename": name_of(frame["filename"])} for frame in frames]


def frames_of(snapshot: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The frames of a snapshot's stacks, each once: events share their stacks, and stacks their frames."""
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]]
    stacks = {id(block.get("frames")): block.get("frames") for block in blocks}
    for trace in snapshot["device_traces"]:
        stacks.update((id(event.get("frames")), event.get("frames")) for event in trace)
    yield from {id(frame): frame for stack in stacks.values() for frame in stack or ()}.values()


class Quotes:
    """What lines of cells say. A recording has to bring them: no file does."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[int, str]] = {}

    def add(self, name: str, line: int, text: str) -> None:
        """Notes a line of the cell with this name."""
        self._lines.setdefault(name, {})[line] = text

    def name_stacks(self, snapshot: dict[str, Any]) -> None:
        """Calls the cells in a snapshot's stacks as the notebook does, and notes those of their lines."""
        if ipython_shell() is None:
            return
        names: dict[str, str] = {}
        for frame in frames_of(snapshot):
            file, line = frame["filename"], frame["line"]
            if file not in names:
                names[file] = name_of(file)
            if names[file] != file:
                frame["filename"] = names[file]
                self.add(names[file], line, line_of(file, line))

    def rows(self) -> list[dict[str, Any]]:
        """Each cell with its lines, as a recording holds them; empty are those that no stack names."""
        return [
            {"name": name, "code": [lines.get(line, "") for line in range(1, max(lines) + 1)]}
            for name, lines in self._lines.items()
        ]
