"""A program that fails by itself shows its own traceback, without lines of ours in it."""

from __future__ import annotations

import os
import sys
from types import TracebackType

_HERE = os.path.dirname(os.path.abspath(__file__))
_OURS = (_HERE + os.sep, _HERE.removesuffix("plan") + "recorder" + os.sep)


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """The same lines but for those of this folder and the recorder's, and of the function that calls into it."""
    if trace is None:
        return None
    rest = without_ours(trace.tb_next)
    code = trace.tb_frame.f_code
    if code.co_filename.startswith(_OURS) or code.co_name == "handle_torch_function":
        return rest
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def clean() -> None:
    """From here on, exceptions that nobody catches are printed without our lines."""
    shown = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        chain: BaseException | None = error
        for _ in range(20):
            if chain is None:
                break
            chain.__traceback__ = without_ours(chain.__traceback__)
            chain = chain.__cause__ or chain.__context__
        shown(kind, error, error.__traceback__)

    sys.excepthook = hook
