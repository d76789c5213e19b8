"""docs/folklore.md: a table of all claims, and a section for each."""

from __future__ import annotations

import importlib.metadata
import json
import textwrap
from collections import Counter
from typing import TypeAlias

from claim import TOPICS, BadProgram, Claim

# What was measured, and how much: in MiB if it is a number.
Figures: TypeAlias = dict[str, "float | str"]

INTRODUCTION = """\
# Folklore, tested

What people tell each other when GPU memory is gone, and whether it is so. For each claim there is a small program
that measures it and fails if the ruling is wrong; [run_claims.py](../folklore/run_claims.py) runs them all and writes
this page from what they print, and the tests compare it. Only claims, rulings and reasons are written by hand: they
stand at the head of each program.

Where the figures come from:

- Programs of PyTorch run on a GPU that is not there: PyTorch's own allocator, autograd and optimizers, on a card whose
  memory is counted and on which nothing is computed ([how](decisions/0007-real-pytorch-on-a-phantom.md)). So nothing
  here is about seconds. Where values matter, the program computes on the CPU.
- Programs of TensorFlow and JAX run on the CPU. For TensorFlow its allocator for cards is switched on there.
- What is marked *on an H200* was measured on a real card, and is not part of what the program shows.

*In use* is memory of tensors, *held* what PyTorch has taken from the card, its cache included
([words](concepts/words.md)).
"""


# The names that each framework is installed under.
FRAMEWORKS = {"PyTorch": ("torch",), "TensorFlow": ("tensorflow", "tensorflow-cpu"), "JAX": ("jax",)}


def _versions() -> str:
    """What the figures were measured with."""
    parts = []
    for framework, names in FRAMEWORKS.items():
        for name in names:
            try:
                # What follows a plus names the build.
                parts.append(f"{framework} {importlib.metadata.version(name).split('+')[0]}")
                break
            except importlib.metadata.PackageNotFoundError:
                continue
    return f"Measured with {', '.join(parts)}."


def figures(claim: Claim, printed: str) -> Figures:
    """What a program prints: one line of JSON, names and numbers. Raises `BadProgram` if it is something else."""
    lines = printed.strip().splitlines()
    try:
        found = json.loads(lines[0]) if len(lines) == 1 else None
    except ValueError:
        found = None
    if isinstance(found, dict) and found and all(type(one) in (int, float, str) for one in found.values()):
        return found
    raise BadProgram(f"{claim.path.name}: it has to print one line of JSON, names with numbers or texts")


def _amount(figure: float | str) -> str:
    if isinstance(figure, str):
        return figure
    return f"{figure:,.2f}".rstrip("0").rstrip(".") + " MiB"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def section(claim: Claim, measured: Figures) -> str:
    """One claim: its ruling, why, and what was measured."""
    lines = [f'<a id="{claim.anchor}"></a>', "", f"### {claim.words}", ""]
    lines += [_wrapped(f"**{_capital(claim.ruling)}.** {claim.why}"), ""]
    lines += [f"| [{claim.path.name}](../folklore/programs/{claim.path.name}) | measured |", "|---|---|"]
    lines += [f"| {_capital(what)} | {_amount(figure)} |" for what, figure in measured.items()]
    if claim.on_card:
        lines += ["", _wrapped(f"*On an H200*: {claim.on_card}")]
    return "\n".join([*lines, ""])


def _count(claims: list[Claim]) -> str:
    kinds = Counter("true when" if claim.ruling.startswith("true when") else claim.ruling for claim in claims)
    named = {"false": "false", "true when": "true in a case that is named", "true": "true"}
    parts = [f"{kinds[kind]} {words}" for kind, words in named.items() if kinds[kind]]
    return f"{len(claims)} claims: {', '.join(parts)}."


def text(claims: list[Claim], measured: dict[str, Figures]) -> str:
    """The whole page."""
    parts = [INTRODUCTION, f"{_count(claims)} {_versions()}", "", "| people say | ruling | section |", "|---|---|---|"]
    for claim in claims:
        parts.append(f"| {claim.words} | {claim.ruling} | [{claim.anchor}](#{claim.anchor}) |")
    parts.append("")
    for topic in TOPICS:
        chosen = [claim for claim in claims if claim.topic == topic]
        if chosen:
            parts += [f"## {topic}", "", *(section(claim, measured[claim.name]) for claim in chosen)]
    return "\n".join(parts)
