"""What a program wants of the network. A plan does not wait long for a hub that cannot be reached, and says what was
wanted of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from types import TracebackType
from typing import Any

# A hub that fails once is asked again once, soon; by itself the library asks six times in half a minute.
RETRIES = {"max_retries": 1, "base_wait_time": 0.2}
# Exceptions of a chain that are looked at.
_MOST_LINKS = 20
_URL = re.compile(r"https?://[^\s'\",)\]]+")
_TRIED = re.compile(r"(?:Tried|Cannot reach) (https?://[^\s,]+[^\s,:])")
_DATA = re.compile(r"Couldn't reach '([^']+)' on the Hub")
_HUB_FUNCTIONS = ("hf_hub_download", "snapshot_download")


def watched() -> dict[str, Callable[[Any], None]]:
    """Modules that are waited for, and what is done with each."""
    return {"huggingface_hub.utils._http": hurry, "urllib.request": name_addresses}


def hurry(http: Any) -> None:
    """Fewer attempts, where the caller does not say how many."""
    for name in ("http_backoff", "http_stream_backoff"):
        function = getattr(http, name, None)
        settings = getattr(function, "__kwdefaults__", None) or {}
        settings.update((key, value) for key, value in RETRIES.items() if key in settings)


def name_addresses(request: Any) -> None:
    """Errors of `urlopen` say which address they are about, in the field that they have for it."""
    original = request.OpenerDirector.open

    @functools.wraps(original)
    def opened(self: Any, fullurl: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, fullurl, *args, **kwargs)
        except OSError as error:
            if getattr(error, "filename", None) is None:
                error.filename = getattr(fullurl, "full_url", fullurl)
            raise

    request.OpenerDirector.open = opened


def wanted(error: BaseException | None) -> str | None:
    """The address that an error, or one that led to it, is about."""
    found = None
    for _ in range(_MOST_LINKS):
        if error is None:
            break
        found = _address(error) or found
        error = error.__cause__ or error.__context__
    return found


def _address(error: BaseException) -> str | None:
    try:
        # httpx and requests keep the request; what is wanted of it is refused where there is none.
        url = getattr(getattr(error, "request", None), "url", None) or getattr(error, "filename", None)
        if url is not None and "://" in str(url):
            return str(url)
        return _told(error) or _of_hub(error.__traceback__)
    except Exception:
        return None


def _told(error: BaseException) -> str | None:
    """The address in an error's words: of the library of datasets, of a command, of an index of mirrors."""
    text = str(error)
    data = _DATA.search(text)
    if data is not None:
        return f"hf://datasets/{data.group(1)}"
    command = getattr(error, "cmd", None)
    found = _URL.search(str(command)) if command is not None else _TRIED.search(text)
    return found.group(found.lastindex or 0) if found is not None else None


def _of_hub(trace: TracebackType | None) -> str | None:
    """The file that a function of the hub's library looked for: offline its errors do not say."""
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name in _HUB_FUNCTIONS:
            name, file = frame.f_locals.get("repo_id"), frame.f_locals.get("filename")
            kind = "datasets/" if frame.f_locals.get("repo_type") == "dataset" else ""
            if isinstance(name, str):
                return f"hf://{kind}{name}" + (f"/resolve/main/{file}" if isinstance(file, str) else "")
        trace = trace.tb_next
    return None
