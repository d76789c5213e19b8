"""Signals at random moments: a script under `oomph run` ends as it does alone, nothing is left running, and no file of the
run is half written. `./x test` does a few runs, OOMPH_ATTACK=1 a thousand. OOMPH_SEED=N chooses others."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import pickletools
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

import pytest

PARTS, EACH = (20, 50) if os.environ.get("OOMPH_ATTACK") else (2, 10)
SEED = int(os.environ.get("OOMPH_SEED", "1"))
LATEST = 0.4
PATIENCE = 5.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2, signal.SIGKILL)

# It says that it has begun, then writes a line now and then until it is over.
ALONE = """
import time
open("begun", "w").close()
with open("beats", "w") as beats:
    for _ in range(100):
        print("beat", file=beats, flush=True)
        time.sleep(0.01)
"""
# The same, with a child that ends when its parent does.
FORKED = f"""
import os
read, write = os.pipe()
if os.fork() == 0:
    os.close(write)
    os.read(read, 1)
    os._exit(0)
os.close(read)
{ALONE}
os.close(write)
os.wait()
"""
SCRIPTS = {"alone": ALONE, "forked": FORKED}


@dataclasses.dataclass
class Shot:
    """What is sent, when, and to whom: `oomph`, `script` or `group`."""

    script: str
    number: signal.Signals
    to: str
    after: float

    @staticmethod
    def of_run(run: int) -> Shot:
        draw = random.Random(f"{SEED} {run}")
        script, number = draw.choice(sorted(SCRIPTS)), draw.choice(SIGNALS)
        return Shot(script, number, draw.choice(("oomph", "script", "group")), draw.uniform(0, LATEST))


def start(words: list[str], folder: pathlib.Path) -> subprocess.Popen[bytes]:
    """A process that leads a group of its own and leaves no core."""
    return subprocess.Popen(
        words,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def shell_code(returncode: int) -> int:
    return returncode if returncode >= 0 else 128 - returncode


@functools.cache
def plain(script: str, number: signal.Signals) -> int:
    """How the script ends by a signal without oomph, as a shell says it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "train.py").write_text(SCRIPTS[script])
        process = start([sys.executable, "train.py"], path)
        while not (path / "begun").exists():
            time.sleep(0.005)
        process.send_signal(number)
        process.communicate(timeout=30)
        return shell_code(process.returncode)


def text_of(path: str) -> bytes:
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def fields(pid: int) -> list[bytes]:
    """State, parent, group, … of a process; none where it is gone."""
    return text_of(f"/proc/{pid}/stat").rpartition(b") ")[2].split()


def script_of(oomph: int) -> int | None:
    """The script that oomph has started, once it runs. Until then each child of oomph, whatever it will be, has oomph's own
    words, and the script's name is among them."""
    of_oomph = text_of(f"/proc/{oomph}/cmdline")
    for pid in numbers():
        words = text_of(f"/proc/{pid}/cmdline")
        if fields(pid)[1:2] == [str(oomph).encode()] and words != of_oomph and b"train.py" in words.split(b"\0"):
            return pid
    return None


def left_running(group: int, folder: pathlib.Path) -> list[bytes]:
    """What is left of a run: members of its group, and who has its folder in the environment."""
    mark = b"OOMPH_RUN=" + os.fsencode(folder)
    found = []
    for pid in numbers():
        state = fields(pid)
        if state[:1] not in ([], [b"Z"]) and (state[2] == str(group).encode() or mark in text_of(f"/proc/{pid}/environ")):
            found.append(text_of(f"/proc/{pid}/cmdline"))
    return found


def fire(shot: Shot, oomph: subprocess.Popen[bytes]) -> None:
    time.sleep(shot.after)
    if shot.to == "group":
        os.killpg(oomph.pid, shot.number)
        return
    target = oomph.pid
    if shot.to == "script":
        end = time.monotonic() + PATIENCE
        while (found := script_of(oomph.pid)) is None:
            assert time.monotonic() < end and oomph.poll() is None, "the script does not begin"
        target = found
    os.kill(target, shot.number)


def wrong_with(run: int, oomph_bin: str, folder: pathlib.Path) -> str | None:
    """What is wrong after one run, if anything."""
    shot = Shot.of_run(run)
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPTS[shot.script])
    process = start([oomph_bin, "run", "-q", "--python", sys.executable, "train.py"], folder)
    fire(shot, process)
    had_begun = (folder / "begun").exists()
    stderr = process.communicate(timeout=60)[1]
    expected = {plain(shot.script, shot.number)}
    if shot.number == signal.SIGINT and not had_begun:
        # Python that is still starting ends with 1, or says that it ignores it; with oomph and without.
        expected |= {0, 1} if b"KeyboardInterrupt" in stderr else {1}
    found = []
    if shell_code(process.returncode) not in expected:
        found.append(f"exit code {shell_code(process.returncode)}, not {expected}")
    end = time.monotonic() + PATIENCE
    while (running := left_running(process.pid, folder)) and time.monotonic() < end:
        time.sleep(0.02)
    if running:
        found.append(f"left running: {running}")
    found += broken_files(folder, may_have_parts=shot.number == signal.SIGKILL)
    if b"oomph: " in stderr or b"panicked" in stderr:
        found.append("oomph speaks")
    return f"run {run} of seed {SEED}, {shot}: {'; '.join(found)}\n{stderr.decode()}" if found else None


def broken_files(folder: pathlib.Path, may_have_parts: bool) -> list[str]:
    found = []
    for path in (folder / ".oomph").rglob("*"):
        try:
            if path.suffix == ".json":
                json.loads(path.read_bytes())
            elif path.suffix == ".pickle":
                assert [op.name for op, _, _ in pickletools.genops(path.read_bytes())][-1] == "STOP"
            elif ".part" in path.name and not may_have_parts:
                found.append(f"{path.name} is left")
        except (ValueError, AssertionError) as error:
            found.append(f"{path.name} is not whole: {error}")
    return found


@pytest.fixture
def no_cores() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


@pytest.mark.parametrize("part", range(PARTS))
def test_a_signal_ends_the_run_and_leaves_nothing(part: int, oomph_bin: str, no_cores: None, tmp_path: pathlib.Path) -> None:
    for script in SCRIPTS:
        for number in SIGNALS:
            plain(script, number)
    runs = range(part * EACH, (part + 1) * EACH)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda run: wrong_with(run, oomph_bin, tmp_path / str(run)), runs))
    assert not any(found), "\n".join(filter(None, found))
