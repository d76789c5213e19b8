"""What the package asks of Rust."""

import os
import pathlib
from typing import final

__all__ = [
    "OomphError",
    "Status",
    "Verdict",
    "explain_file",
    "explain_text",
    "format_size",
    "is_out_of_memory",
    "last_run",
    "parse_size",
    "plan",
    "read_status",
    "version",
]

class OomphError(Exception):
    """What was asked for cannot be done; one line says why, and what to do."""

@final
class Status:
    """Who holds this machine's memory, at the moment it was asked."""

    def text(self, *, color: bool = False) -> str:
        """The screen of `oomph status`, with ANSI escapes where colour is wanted."""

    def json(self) -> str:
        """The document of `oomph status --json`."""

@final
class Verdict:
    """What `oomph explain` says of one file, run or text; each form is made when it is asked for."""

    def text(self, *, color: bool = False) -> str:
        """The report, with ANSI escapes where colour is wanted."""

    def screen(self, more: str) -> str | None:
        """The verdict on the first failure as one screen, whose last line says how to see `more`; None where a recording
        has no verdict, and for a message."""

    def json(self) -> str:
        """The document of `oomph explain --json`."""

    def page(self) -> str | None:
        """The page of `oomph explain --html`; None for a message, which has nothing to draw."""

    def card(self) -> str:
        """A fragment of HTML, to stand under a notebook's cell."""

    def ran_out(self) -> bool:
        """Whether it says that memory ran out."""

def explain_file(path: str | os.PathLike[str], limit: int | None = None) -> Verdict:
    """The verdict on a file, a snapshot or a text that may report an error, or on the folder of a run. `limit` is what
    the job could hold, in bytes, where the file does not show it."""

def explain_text(text: str, /) -> Verdict:
    """The verdict on a text that may report an error."""

def format_size(amount: int, /) -> str:
    """An amount of bytes for people, as every report writes it: `5.84 GiB`. A difference may be negative."""

def is_out_of_memory(classes: list[str], text: str, /) -> bool:
    """Whether an exception of these classes, its own first, with this text reports that memory ran out."""

def last_run() -> pathlib.Path | None:
    """The folder of the last run recorded in the current directory; None where there is none."""

def parse_size(text: str, /) -> int:
    """The bytes that a text such as `12 GiB` means."""

def plan(
    words: list[str],
    *,
    gpu: str,
    python: str | os.PathLike[str],
    library: str | os.PathLike[str],
    changes: bool = False,
    world: tuple[int | None, int | None],
) -> str:
    """The document of `oomph plan --json` for one card. `words` are a script and its arguments, or `-c` and code;
    `library` is the package's phantom; `changes`: try changes where it does not fit."""

def read_status() -> Status:
    """Asks the machine."""

def version() -> str:
    """The version of this build, such as `0.1.0`."""
