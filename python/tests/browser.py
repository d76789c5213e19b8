"""A real browser for tests, driven over two pipes by Chrome's DevTools protocol. Standard library only."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new --no-sandbox --disable-dev-shm-usage --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-default-apps --disable-extensions --hide-scrollbars "
    "--use-angle=swiftshader --enable-unsafe-swiftshader --remote-debugging-pipe"
)


def installed() -> str | None:
    """The browser's program, if there is one."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


class Browser:
    """One browser with one page. What the page logs, asks for and throws is kept in order."""

    def __init__(self, program: str, patience: float = 60.0) -> None:
        self.patience = patience
        self.folder = tempfile.mkdtemp(prefix="oomph-browser-")
        inward, self.outgoing = os.pipe()
        self.incoming, outward = os.pipe()
        # The browser reads descriptor 3 and writes 4; ours are moved out of the way first.
        ours = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (inward, outward)]
        os.close(inward)
        os.close(outward)

        def hand_over() -> None:
            for number, end in enumerate(ours, start=3):
                os.dup2(end, number)

        self.process = subprocess.Popen(
            [program, *FLAGS.split(), f"--user-data-dir={self.folder}", "about:blank"],
            close_fds=False,
            preexec_fn=hand_over,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for end in ours:
            os.close(end)
        self.number = 0
        self.rest = b""
        self.session: str | None = None
        self.forget()
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = str(self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def forget(self) -> None:
        """Begins the lists of what the page did anew."""
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.dialogs = 0

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command and its answer."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.outgoing, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.patience
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def receive(self, deadline: float) -> dict[str, Any]:
        """The next message; events are noted on the way."""
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.incoming], [], [], max(deadline - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            part = os.read(self.incoming, 1 << 20)
            assert part, "the browser went away"
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self.note(message)
        return message

    def note(self, message: dict[str, Any]) -> None:
        """Keeps what an event says of the page."""
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(params["args"])[:600])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(json.dumps(params["entry"])[:600])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs += 1

    def screen(self, width: int, height: int, dark: bool = False) -> None:
        """The size of the window, and the scheme that the system asks for."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, address: str) -> None:
        """Opens an address anew, also where only what stands behind # differs."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, f"{script}: {json.dumps(found['exceptionDetails'])[:800]}"
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = 30.0) -> Any:
        """Waits until an expression is true."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.run(script)
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"after {seconds} s still not: {script}; complaints: {self.complaints}")

    def picture(self, path: Path, whole: bool = False) -> None:
        """The screen, or the whole page, as PNG."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def memory(self) -> int:
        """What the browser's processes hold together, in bytes: memory that several share is counted once."""
        total = 0
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if os.getpgid(int(entry.name)) != self.process.pid:
                        continue
                    shares = (entry / "smaps_rollup").read_text().splitlines()
                except (OSError, ProcessLookupError):
                    continue
                total += sum(int(line.split()[1]) << 10 for line in shares if line.startswith("Pss:"))
        return total

    def close(self) -> None:
        """Ends the browser and removes what it left."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.outgoing)
        os.close(self.incoming)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
