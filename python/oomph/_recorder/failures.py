"""Failures that the recorder noted: which of them an error reports, and recordings that show only some."""

from __future__ import annotations

from collections import Counter
from typing import Any

from . import cells, exceptions


def of_error(error: BaseException, noted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that the error reports, or one that it was raised from or while handling: they have its stack. Where several
    have, the last."""
    left, found = noted[::-1], []
    for link in exceptions.chain(error):
        stack = cells.named(exceptions.frames_of_error(link)) if exceptions.may_be_out_of_memory(link) else []
        same = next((oom for oom in left if stack and _is_part(stack, oom["frames"])), None)
        if same is not None:
            left.remove(same)
            found.append(same)
    return found


def _is_part(stack: list[dict[str, Any]], whole: list[dict[str, Any]]) -> bool:
    """Whether lines follow each other in a stack: that of an error ends where it was caught, and may lack the lines of
    the thread that failed."""
    return any(whole[start : start + len(stack)] == stack for start in range(len(whole) - len(stack) + 1))


def keep(snapshot: dict[str, Any], last: list[dict[str, Any]]) -> None:
    """Drops the failures from a snapshot but for the last, which are these."""
    counts = Counter(oom["device"] for oom in last)
    traces = enumerate(snapshot["device_traces"])
    snapshot["device_traces"] = [_with_last(trace, counts[device]) for device, trace in traces]


def _with_last(trace: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    failed = [index for index, event in enumerate(trace) if event["action"] == "oom"]
    dropped = set(failed[: max(len(failed) - count, 0)])
    return [event for index, event in enumerate(trace) if index not in dropped] if dropped else trace


def name_cells(snapshot: dict[str, Any], noted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls the cells in a snapshot's stacks as the notebook does; gives what the lines say that those and the failures
    name."""
    quotes = cells.Quotes()
    quotes.name_stacks(snapshot)
    for oom in noted:
        for frame, text in zip(oom["frames"], oom["code"]):
            if cells.NAME.fullmatch(frame["filename"]):
                quotes.add(frame["filename"], frame["line"], text)
    return quotes.rows()
