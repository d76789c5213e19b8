"""`@pytest.mark.oomph_limit_gpu_memory("2 GiB")`: a test that needs more GPU memory than that fails."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

_MARK = "oomph_limit_gpu_memory"
_HELP = (
    f"{_MARK}(limit, *, device=None): fail the test if the peak of the CUDA memory that its tensors take, above what was "
    'in use before it, exceeds the limit, such as "2 GiB"; on any device, or on the one given'
)
_STRICT = "--oomph-strict-gpu"
# Lines that the report of a failure names.
_LINES = 5


@dataclass(frozen=True)
class _Peak:
    """What a test took on the device where it took most."""

    device: int
    limit: int
    bytes: int
    before: int
    lines: tuple[str, ...]


# What the tests under way took, until their report is made.
_peaks: dict[str, _Peak] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("oomph")
    group.addoption(
        _STRICT, action="store_true", help=f"fail tests marked {_MARK} where there is no GPU, rather than skip them"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _HELP)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        mark = item.get_closest_marker(_MARK)
        if mark is not None:
            _limit(item, mark)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker(_MARK) is None:
        return
    reason = _why_not()
    if reason is None:
        return
    if item.config.getoption(_STRICT):
        pytest.fail(f"{_MARK}: {reason}", pytrace=False)
    pytest.skip(f"{_MARK}: {reason}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    mark = item.get_closest_marker(_MARK)
    if mark is None:
        yield
        return
    from oomph import _peak

    limit, device = _limit(item, mark)
    stretch = _peak.Stretch(importlib.import_module("torch"), device)
    yield
    most, taken = stretch.most()
    if taken > limit:
        lines = tuple(str(line) for line in stretch.lines(most)[:_LINES])
        _peaks[item.nodeid] = _Peak(most, limit, taken, stretch.before[most], lines)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    outcome: Any = yield
    peak = _peaks.pop(item.nodeid, None) if call.when == "call" else None
    if peak is None:
        return
    report = outcome.get_result()
    if _was_to_fail(report):
        # It was expected to fail, and does.
        report.outcome = "skipped"
        report.wasxfail = getattr(report, "wasxfail", "")
        report.longrepr = _sentence(peak)
    elif report.passed:
        report.outcome = "failed"
        report.longrepr = _sentence(peak)
    else:
        # The test's own failure comes first.
        report.sections.append((_MARK, _sentence(peak)))
    if peak.lines:
        report.sections.append(("lines that held most at the peak", "\n".join(peak.lines)))


def _was_to_fail(report: Any) -> bool:
    """Whether a test that ran through is marked `xfail`; pytest calls it passed, or failed where the mark is strict."""
    return report.passed and hasattr(report, "wasxfail") or str(report.longrepr).startswith("[XPASS(strict)]")


def _sentence(peak: _Peak) -> str:
    from oomph._oomph import format_size

    took, limit = format_size(peak.bytes), format_size(peak.limit)
    text = f"{_MARK}: the test took {took} on GPU {peak.device}, its limit is {limit}"
    return f"{text} ({format_size(peak.before)} was in use before it and is not counted)" if peak.before else text


def _limit(item: pytest.Item, mark: pytest.Mark) -> tuple[int, int | None]:
    """The limit and the device of a mark; a usage error where its arguments are wrong."""
    from oomph._oomph import OomphError, parse_size

    def grammar(limit: str, *, device: int | None = None) -> tuple[str, int | None]:
        return limit, device

    try:
        inspect.signature(grammar).bind(*mark.args, **mark.kwargs)
        limit, device = grammar(*mark.args, **mark.kwargs)
        if not isinstance(limit, str):
            raise TypeError(f"the limit is a text such as '2 GiB', not {limit!r}")
        return parse_size(limit), device
    except (TypeError, OomphError) as error:
        raise pytest.UsageError(f"{item.nodeid}: {_MARK}: {error}") from None


def _why_not() -> str | None:
    """Why GPU memory cannot be measured here; None where it can."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return "torch is not installed"
    return None if torch.cuda.is_available() else "torch finds no CUDA device here"
