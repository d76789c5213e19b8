"""`oomph.explain`: the verdict of `oomph explain`, in Python."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any

from oomph._oomph import OomphError, Verdict, explain_file, explain_text, last_run, parse_size
from oomph._recorder import complaint
from oomph._recorder.exceptions import traceback_of

if TYPE_CHECKING:
    from oomph._recorder.process import Process


class Explanation:
    """Why memory ran out. Prints as the report; in a notebook it is shown under the cell."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    @property
    def text(self) -> str:
        """The report, as `oomph explain` prints it."""
        return self._verdict.text()

    @property
    def data(self) -> Any:
        """The document of `oomph explain --json`: a dict, or a list of one for each device where there are several."""
        return json.loads(self._verdict.json())

    def screen(self, more: str) -> str:
        """The verdict on one screen, whose last line says how to see `more`; the report where there is no verdict."""
        return self._verdict.screen(more) or self.text

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the page of `oomph explain --html`, over what was there."""
        page = self._verdict.page()
        if page is None:
            raise OomphError("a message alone has nothing to draw: explain a snapshot, then save its page")
        try:
            pathlib.Path(path).write_text(page, encoding="utf-8")
        except OSError as error:
            raise OomphError(f"cannot write {os.fspath(path)}: {error.strerror}") from None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        return self._verdict.card()


def explain(
    what: str | os.PathLike[str] | BaseException | None = None, *, limit: int | str | None = None
) -> Explanation:
    """Why memory ran out, from a snapshot, a log, a run's folder, a message or an exception.

    An exception is explained from the recording of this process, if it is recorded (`oomph.record()`, a notebook with
    `%load_ext oomph`, `oomph run`); else from what it says. Without an argument: from what `oomph run` has recorded of
    this process, else the exception that is being handled, else the last one that nobody caught, else the last run
    recorded in the current folder. `limit` is the memory that the job could hold, where a snapshot does not show it.
    """
    held = parse_size(limit) if isinstance(limit, str) else limit
    if what is None:
        return _last(held)
    if isinstance(what, BaseException):
        return Explanation(_verdict_on(what, held))
    if isinstance(what, str) and not os.path.exists(what):
        verdict = explain_text(what)
        # A single line that reports nothing is more likely the name of a file that is not there.
        if "\n" in what or verdict.ran_out():
            return Explanation(verdict)
    return Explanation(explain_file(what, held))


def _last(limit: int | None) -> Explanation:
    recorded = _recorded_here()
    if recorded is not None:
        return Explanation(explain_file(recorded, limit))
    # `last_exc` is of Python 3.12; both are set where an exception has ended a cell or a line typed in.
    uncaught = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    for exception in (sys.exc_info()[1], uncaught):
        if exception is not None:
            verdict = _verdict_on(exception, limit)
            if verdict.ran_out():
                return Explanation(verdict)
    run = last_run()
    if run is not None:
        return Explanation(explain_file(run, limit))
    raise OomphError(
        "nothing to explain: no error of this process was about memory, and no run was recorded in this folder; "
        "name a snapshot, a log, a message or an exception"
    )


def _recorded_here() -> str | None:
    """The recording of this process under `oomph run`, if memory has run out in it; the recorder wrote it then."""
    process: Process | None = getattr(sys, "_oomph_process", None)
    if process is None or process.name is None or not process.recorder.ooms:
        return None
    path = os.path.join(process.folder, f"{process.name}.pickle")
    return path if os.path.exists(path) else None


def _verdict_on(exception: BaseException, limit: int | None) -> Verdict:
    return explain_recorded(exception, limit) or explain_text(traceback_of(exception))


def explain_recorded(exception: BaseException, limit: int | None = None, since: int | None = None) -> Verdict | None:
    """The verdict on an exception by the recording of this process; None where there is none, or where it does not show
    the failure. Where the exception has not the stack of a failure, those from `since` on are taken for its own."""
    try:
        from oomph.record import verdict_on

        return verdict_on(exception, limit, since)
    except Exception as error:
        # The message says less, but it is there.
        complaint.once("an error is explained without its recording", error)
        return None
