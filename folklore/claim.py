"""What a program says about itself: the claim, the ruling, why, and the topic, from the text at its head.

    Claim: the words that people use
    Ruling: true, false, or true when …
    Why: one to three sentences, and what to do instead
    Topic: one of TOPICS
    On an H200: what was measured on a real card (where there is such a figure)

A part may go on in the next lines, which are set in by four spaces.
"""

from __future__ import annotations

import ast
import dataclasses
import pathlib
import re

# In the order of the page.
TOPICS = (
    "Letting go",
    "The allocator",
    "Training",
    "Evaluation",
    "Precision",
    "Host memory",
    "TensorFlow and JAX",
)
_NEEDED = ("Claim", "Ruling", "Why", "Topic")
_ALLOWED = (*_NEEDED, "On an H200")


class BadProgram(Exception):
    """A program whose head cannot be read, or that does not show what it says. The text is for people."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """One claim and where it is tested."""

    path: pathlib.Path
    words: str
    ruling: str
    why: str
    topic: str
    # What was measured on a real card; empty where nothing was.
    on_card: str

    @property
    def name(self) -> str:
        """The program's name without `.py`."""
        return self.path.stem

    @property
    def anchor(self) -> str:
        """The name of its section on the page."""
        return self.name.replace("_", "-")

    @property
    def uses_pytorch(self) -> bool:
        """Whether it runs on PyTorch and the phantom GPU, and not on the CPU."""
        return self.topic != "TensorFlow and JAX"


def _parts(path: pathlib.Path) -> dict[str, str]:
    head = ast.get_docstring(ast.parse(path.read_text()), clean=False) or ""
    parts: dict[str, str] = {}
    last = ""
    for line in head.strip().splitlines():
        label, colon, text = line.partition(": ")
        if line.startswith("    ") and last:
            parts[last] += " " + line.strip()
        elif colon and label in _ALLOWED and label not in parts:
            last = label
            parts[last] = text.strip()
        else:
            raise BadProgram(f"{path.name}: `{line}` at its head is not one of {', '.join(_ALLOWED)}")
    return parts


def _claim(path: pathlib.Path) -> Claim:
    parts = _parts(path)
    for label in _NEEDED:
        if not parts.get(label):
            raise BadProgram(f"{path.name}: its head has no `{label}:`")
    if not re.fullmatch(r"true|false|true when .+", parts["Ruling"]):
        raise BadProgram(f"{path.name}: the ruling is not true, false or true when …: {parts['Ruling']}")
    if parts["Topic"] not in TOPICS:
        raise BadProgram(f"{path.name}: `{parts['Topic']}` is none of the topics of claim.py")
    return Claim(path, parts["Claim"], parts["Ruling"], parts["Why"], parts["Topic"], parts.get("On an H200", ""))


def read(folder: pathlib.Path) -> list[Claim]:
    """The claims of a folder's programs, by topic and then by name. Raises `BadProgram`."""
    claims = [_claim(path) for path in sorted(folder.glob("*.py"))]
    return sorted(claims, key=lambda claim: TOPICS.index(claim.topic))
