"""`oomph top` in a real terminal: over a job on a GPU that is not there, and over jobs that are made up."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from programs import MODEL, T4, Programs

MIB = 1 << 20
PATIENCE = 60.0

# Steps until somebody ends it. Its classes: two weights of 4 MiB, as much for gradients, twice for Adam, buffers of 8 MiB.
TRAIN = (
    MODEL
    + """
import time
while True:
    optimizer.zero_grad()
    model(torch.ones(1 << 20, device="cuda")).sum().backward()
    optimizer.step()
    time.sleep(0.02)
"""
)

NVML = """\
driver 580.159.04
cuda 13000
gpu Tesla T4
uuid GPU-1
memory 16106127360 0 8053063680
process compute 4194305 1073741824
"""


def wait(found: Callable[[], Any], what: Callable[[], str]) -> Any:
    """What is found, as soon as it is; fails with what is there instead."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        result = found()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(f"waited in vain:\n{what()}")


class Terminal:
    """A shell in a terminal of tmux."""

    def __init__(self, folder: pathlib.Path, width: int, height: int, environment: dict[str, str]) -> None:
        self._tmux = ["tmux", "-u", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        shell = "env PS1='$ ' bash --norc --noprofile"
        size = ["-x", str(width), "-y", str(height)]
        subprocess.run([*self._tmux, "new-session", "-d", *size, shell], check=True, cwd=folder, env=environment)

    def ask(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True).stdout

    def press(self, *keys: str) -> None:
        self.ask("send-keys", *keys)

    def type(self, text: str) -> None:
        self.ask("send-keys", "-l", text)
        self.press("Enter")

    def screen(self) -> list[str]:
        return self.ask("capture-pane", "-p").splitlines()

    def wait(self, *texts: str) -> list[str]:
        """The screen, once all of these are on it."""

        def found() -> list[str]:
            screen = self.screen()
            return screen if all(any(text in line for line in screen) for text in texts) else []

        result: list[str] = wait(found, lambda: "\n".join([f"not there: {texts}", *self.screen()]))
        return result

    def state(self) -> tuple[str, str, str]:
        """Whether another screen is shown, and the cursor; and whether lines wrap."""
        alternate, cursor, wrap = self.ask("display", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}").split()
        return alternate, cursor, wrap

    def settings(self, name: str) -> str:
        """How the terminal is set, as stty says."""
        self.type(f"stty -g > {name}; echo {name} is'' there")
        self.wait(f"{name} is there")
        folder = self.ask("display", "-p", "#{pane_current_path}").strip()
        return (pathlib.Path(folder) / name).read_text()

    def end(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True)


AS_BEFORE = ("0", "1", "1")
TAKEN = ("1", "0", "0")


@pytest.fixture
def terminal(tmp_path: pathlib.Path, oomph_bin: str) -> Iterator[Callable[..., Terminal]]:
    """Makes a terminal of a size, in which `$OOMPH` is the command."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed here")
    made: list[Terminal] = []

    def make(width: int = 80, height: int = 24, **variables: str) -> Terminal:
        environment = {**os.environ, "OOMPH": oomph_bin, "LC_ALL": "C.UTF-8", "OOMPH_NVML": "none", **variables}
        made.append(Terminal(tmp_path, width, height, environment))
        made[-1].wait("$")
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture(scope="module")
def job(
    oomph_bin: str, phantom: str, tmp_path_factory: pytest.TempPathFactory, torch: Any
) -> Iterator[dict[str, Any]]:
    """A job that trains under `oomph run`, as `oomph top --json` says once its classes are known."""
    programs = Programs(oomph_bin, phantom, sys.executable, tmp_path_factory.mktemp("job"))
    script = programs.write(TRAIN)
    # Its environment has to be its own from the start: that is where its run is looked up.
    words = [oomph_bin, "run", "--python", sys.executable, "--limit", "2GiB", script.name]
    process = programs.start(words, T4)

    def found() -> dict[str, Any] | None:
        assert process.poll() is None, process.communicate()
        jobs = [one for one in top(oomph_bin)["jobs"] if one["run"].endswith(f"-{process.pid}")]
        return jobs[0] if jobs and jobs[0]["by_class"] and jobs[0]["steps_per_second"] else None

    try:
        yield {**wait(found, lambda: json.dumps(top(oomph_bin))), "folder": str(programs.folder)}
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def top(oomph_bin: str) -> dict[str, Any]:
    environment = {**os.environ, "OOMPH_NVML": "none"}
    done = subprocess.run([oomph_bin, "top", "--json"], capture_output=True, text=True, check=True, env=environment)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def nvml(folder: pathlib.Path) -> str:
    """NVIDIA's library for a test: a copy of the fake one with a scenario written into it."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", pathlib.Path(__file__).parents[2] / "target"))
    built = [target / "debug" / "deps" / "liboomph_fake_nvml.so", target / "debug" / "liboomph_fake_nvml.so"]
    found = [path for path in built if path.exists()]
    if not found:
        pytest.skip("liboomph_fake_nvml.so is not built: cargo build -p oomph-fake-nvml")
    mark = b"oomph fake NVML scenario"
    before, _, after = found[0].read_bytes().partition(mark + bytes(1000))
    scenario = NVML.encode()
    path = folder / "libnvml.so"
    path.write_bytes(before + mark + scenario + bytes(1000 - len(scenario)) + after)
    return str(path)


def row(screen: list[str], pid: int) -> list[str]:
    """The words of a job's line."""
    return next(line.split() for line in screen if re.match(rf" *{pid} ", line))


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50)])
def test_a_job_is_watched(
    terminal: Callable[..., Terminal], job: dict[str, Any], tmp_path: pathlib.Path, width: int, height: int
) -> None:
    shell = terminal(width, height, OOMPH_NVML=nvml(tmp_path))
    pid = job["pid"]
    before = shell.settings("before")
    shell.type("clear; $OOMPH top --every 0.2 --sort time")
    screen = shell.wait(f"{pid} train", "training", "q quit")
    assert len(screen) == height and shell.state() == TAKEN
    assert re.fullmatch(r"oomph top, \S+: 1 GPU, \d+ jobs? by time, 1 other process", screen[0])
    assert re.fullmatch(r"GPU 0  Tesla T4 +\[█+░+\] 7\.5G of 15\.0G used, 50%", screen[1])
    bar = screen[1][screen[1].index("[") + 1 : screen[1].index("]")]
    assert abs(bar.count("█") - bar.count("░")) <= 1
    assert any(line.split() == ["4194305", "0", "?", "1.0G", "(not", "of", "this", "container)"] for line in screen)
    heading = next(line for line in screen if line.startswith("    PID JOB"))
    assert heading.split()[-1] == "HISTORY" and ("WEIGHTS" in heading) == (width == 200)
    # Weights, gradients, state and buffers: 8 + 8 + 16 + 8 MiB.
    words = row(screen, pid)
    assert words[1] == "train" and "40M" in words, words
    assert any(set("▁▂▃▄▅▆▇█") & set(word) for word in words)
    steps = int(words[words.index("training") - (2 if width == 200 else 1)].replace(",", ""))
    assert steps >= job["steps"]
    choose(shell, pid)
    shell.press("Enter")
    screen = shell.wait(f"train: process {pid}", "optimizer state", "esc back")
    figures = {line[2:20].strip(): line[20:31].strip() for line in screen}
    classes = ("weights", "gradients", "optimizer state", "buffers")
    assert [figures[name] for name in classes] == ["8.00 MiB", "8.00 MiB", "16.00 MiB", "8.00 MiB"]
    assert any(line.startswith("  left ") and line.endswith("to 2.00 GiB, its limit") for line in screen)
    assert any(re.fullmatch(r"  [\d,]+ steps done at [\d.]+/s; training; 0 retries, 0 failures", line) for line in screen)
    shell.press("d")
    screen = shell.wait("written: ")
    path = pathlib.Path(job["folder"]) / ".oomph" / job["run"] / "main.pickle"
    written = f"written: {path}"
    assert screen[-1] == (written if len(written) <= width else f"{written[: width - 1]}…") and path.exists()
    shell.press("?")
    assert "  d        dump: the chosen job writes its recording and goes on" in shell.wait("oomph top: keys")
    shell.press("Escape")
    shell.wait(f"train: process {pid}")
    shell.press("Escape")
    shell.wait("HISTORY")
    shell.press("q")
    # What is typed before it has ended is its own, or lost.
    wait(lambda: shell.state() == AS_BEFORE, lambda: "\n".join(shell.screen()))
    shell.type("echo ended with $?")
    shell.wait("ended with 0")
    assert shell.state() == AS_BEFORE and shell.settings("after") == before


def choose(shell: Terminal, pid: int) -> None:
    """Moves to a job, wherever others that run on this machine stand."""

    def chosen() -> int | None:
        """The job whose line is shown inverted."""
        found = re.search(r"\x1b\[(?:\d+;)*7m(?:\x1b\[\d+m)* *(\d+) ", shell.ask("capture-pane", "-p", "-e"))
        return int(found[1]) if found else None

    for _ in range(100):
        now = wait(chosen, lambda: "\n".join(shell.screen()))
        if now == pid:
            return
        lines = [line.split()[0] for line in shell.screen() if line.strip()]
        shell.press("Down" if str(pid) in lines[lines.index(str(now)) :] else "Up")
        wait(lambda before=now: chosen() not in (None, before), lambda: "\n".join(shell.screen()))
    raise AssertionError(f"{pid} cannot be chosen")


class MadeUp:
    """Processes that do nothing, with notes of jobs that are made up."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def job(self, script: str, started_s: int, in_use: Callable[[int], int], limit: int | None = None) -> int:
        """What was in use, in MiB, at each of 300 notes, the last of them now."""
        number = len(self._processes)
        run = self._folder / ".oomph" / f"20261115-06401{number}-{script}-1"
        run.mkdir(parents=True)
        process = subprocess.Popen(["sleep", "600"], env={**os.environ, "OOMPH_RUN": str(run)})
        self._processes.append(process)
        now = time.time_ns() // 1000
        rows, peak = [], 0
        for n in range(300):
            peak = max(peak, in_use(n) + 1024)
            rows.append([now - (299 - n) * 2_000_000, 100 + n, in_use(n) * MIB, peak * MIB, peak * MIB])
        device = {
            "index": 0, "total": 80 << 30, "free": 40 << 30, "limit": limit, "allocated": in_use(299) * MIB,
            "reserved": peak * MIB, "peak_allocated": peak * MIB, "peak_reserved": peak * MIB, "retries": 3, "ooms": 1,
            "history": rows, "by_class": {"weights": MIB},
        }  # fmt: skip
        notes = {
            "name": "main", "pid": process.pid, "started_us": now - started_s * 1_000_000, "written_us": now,
            "versions": {}, "marks": [[now, "eval", 399]], "devices": [device],
        }  # fmt: skip
        (run / "main.json").write_text(json.dumps(notes))
        return process.pid

    def end(self, pid: int | None = None) -> None:
        for process in self._processes:
            if pid in (None, process.pid):
                process.kill()
                process.wait()


@pytest.fixture
def made_up(tmp_path: pathlib.Path) -> Iterator[MadeUp]:
    jobs = MadeUp(tmp_path)
    yield jobs
    jobs.end()


def test_jobs_are_sorted_chosen_and_warned_of(terminal: Callable[..., Terminal], made_up: MadeUp) -> None:
    grows = made_up.job("grows", 1000, lambda n: 10_000 + n, limit=12_523 * MIB)
    still = made_up.job("still", 2000, lambda n: 30_000)
    tooth = made_up.job("tooth", 3000, lambda n: 20_000 + n % 50)
    shell = terminal()
    shell.type("clear; $OOMPH top --every 0.2")
    warning = "        ! grows 30.00 MiB a minute: about 40 minutes left at this rate"
    screen = shell.wait(f"{grows} grows", f"{still} still", f"{tooth} tooth", "evaluation")

    def order() -> list[int]:
        found = (re.match(r" *(\d+) ", line) for line in shell.screen())
        return [int(one[1]) for one in found if one and int(one[1]) in (grows, still, tooth)]

    def wait_for_order(*expected: int) -> None:
        wait(lambda: order() == list(expected), lambda: "\n".join(shell.screen()))

    # 10,299 MiB are in use, 11,323 were at most: 1,200 are left, at 30 a minute.
    at = next(at for at, line in enumerate(screen) if f"{grows} grows" in line)
    assert screen[at + 1] == warning
    for quiet in (still, tooth):
        at = next(at for at, line in enumerate(screen) if re.match(rf" *{quiet} ", line))
        assert "!" not in screen[at + 1]
    assert row(screen, grows)[2:6] == ["10.1G", "1.0G", "11.1G", "2.2G"]
    wait_for_order(still, tooth, grows)
    for key, expected in [("g", (grows, still, tooth)), ("t", (tooth, still, grows)), ("p", sorted((grows, still, tooth)))]:
        shell.press(key)
        wait_for_order(*expected)
    choose(shell, still)
    shell.press("Enter")
    shell.wait(f"still: process {still}", "399 steps done", "3 retries, 1 failure")
    # A job that ends while it is looked at leaves the list.
    made_up.end(still)
    screen = shell.wait("HISTORY")
    assert not any(f"{still} still" in line for line in screen)
    shell.press("C-c")
    # What is typed before it has ended is its own, or lost.
    wait(lambda: shell.state() == AS_BEFORE, lambda: "\n".join(shell.screen()))
    shell.type("echo ended with $?")
    shell.wait("ended with 0")


def test_a_terminal_of_another_size_or_without_utf8_is_filled(terminal: Callable[..., Terminal], made_up: MadeUp) -> None:
    pid = made_up.job("train", 1000, lambda n: 10_000 + n, limit=12_523 * MIB)
    shell = terminal(LC_ALL="C")
    shell.type("clear; $OOMPH top --every 0.2")
    screen = shell.wait(f"{pid} train", "RAM", "!")
    assert "\n".join(screen).isascii()
    assert next(line for line in screen if line.startswith("RAM")).count("#") > 0
    shell.ask("resize-window", "-x", "120", "-y", "30")
    wait(lambda: len(shell.screen()) == 30 and "q quit" in shell.screen()[29], lambda: "\n".join(shell.screen()))
    assert "STEPS" in next(line for line in shell.wait("LIMIT") if "HISTORY" in line)
    shell.ask("resize-window", "-x", "60", "-y", "12")
    wait(lambda: len(shell.screen()) == 12 and shell.screen()[11].startswith("m g t p"), lambda: "\n".join(shell.screen()))
    assert shell.screen()[0].startswith("oomph top, ")
    shell.press("q")


def test_the_terminal_is_given_back_whatever_happens(terminal: Callable[..., Terminal], tmp_path: pathlib.Path) -> None:
    shell = terminal()
    before = shell.settings("before")

    def start() -> None:
        shell.type("clear; $OOMPH top --every 0.2 & echo $! > pid; fg")
        shell.wait("q quit")
        assert shell.state() == TAKEN

    for name in ("TERM", "HUP", "INT", "QUIT"):
        start()
        os.kill(int((tmp_path / "pid").read_text()), signal.Signals[f"SIG{name}"])
        wait(lambda: shell.state() == AS_BEFORE, lambda: "\n".join(shell.screen()))
        shell.type("echo ended with $?")
        shell.wait(f"ended with {128 + signal.Signals[f'SIG{name}']}")
        assert shell.settings(f"after-{name}") == before
    start()
    shell.press("C-z")
    shell.wait("Stopped")
    assert shell.state() == AS_BEFORE and shell.settings("stopped") == before
    shell.type("fg")
    shell.wait("q quit")
    assert shell.state() == TAKEN
    shell.press("q")
    wait(lambda: shell.state() == AS_BEFORE, lambda: "\n".join(shell.screen()))
    assert shell.settings("after") == before

