"""`oomph.status`: who holds this machine's memory."""

from __future__ import annotations

import json
from typing import Any

from oomph._oomph import Status as _Status
from oomph._oomph import read_status


class Status:
    """Who held this machine's memory at one moment. Prints as `oomph status`."""

    def __init__(self, status: _Status) -> None:
        self._status = status

    @property
    def text(self) -> str:
        """The screen of `oomph status`."""
        return self._status.text()

    @property
    def data(self) -> dict[str, Any]:
        """The document of `oomph status --json`."""
        document: dict[str, Any] = json.loads(self._status.json())
        return document

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text.rstrip("\n")


def status() -> Status:
    """Each GPU and its processes, host memory and its limits, and the allocator's settings, as they are at this moment."""
    return Status(read_status())
