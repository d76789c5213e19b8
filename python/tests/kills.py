"""Trains a small model many times, ends each training by `kill -9` at some moment, starts it again, and says how each ended.

    python kills.py FOLDER SEED RANDOM

RANDOM trainings are killed at random moments, once or twice each; then one for each place within a save that a kill
is aimed at. Each line of output is a JSON object. torch is imported once: every training is a fork of this process.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import random
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from oomph import checkpoint
from oomph._checkpoint import disk

STEPS_PER_EPOCH, EPOCHS = 6, 4
# Calls of a save, and where in them the process ends.
AIMS = [
    (name, when) for name in ("write", "sync", "replace", "sync_folder") for when in ("before", "within", "after")
    if when != "within" or name == "write"
]  # fmt: skip


class Numbers(torch.utils.data.Dataset):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return STEPS_PER_EPOCH * 4

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.randn(8, generator=torch.Generator().manual_seed(index)), index % 3


def train(steps: int) -> str:
    """The job: dropout, batch statistics, shuffled data from two workers, a schedule, a scaler. Gives a mark of all that it
    ends with. Each step is a byte written to `steps`; from where it goes on is a line of the file `begun`."""
    torch.manual_seed(5)
    random.seed(5)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=100)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=5)
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=2)
    extra = {"loss": 0.0}
    saved = checkpoint(model, optimizer, schedule, scaler, loader, every=2, extra=extra)
    with open("begun", "a") as begun:
        print(saved.steps_done, file=begun)
    for _ in saved.epochs(EPOCHS):
        for inputs, labels in saved.batches():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            extra["loss"] += loss.item()
            saved.step()
            os.write(steps, b".")
    saved.close()
    mark = hashlib.sha256()
    states = [model.state_dict(), optimizer.state_dict(), schedule.state_dict(), scaler.state_dict(), extra]
    _mark(states, mark.update)
    _mark([torch.get_rng_state(), random.getstate(), saved.steps_done], mark.update)
    return mark.hexdigest()


def _mark(value: Any, update: Callable[[bytes], object]) -> None:
    if isinstance(value, torch.Tensor):
        update(value.numpy().tobytes())
    elif isinstance(value, dict):
        for key, item in value.items():
            update(repr(key).encode())
            _mark(item, update)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _mark(item, update)
    else:
        update(repr(value).encode())


def aim(name: str, when: str, call: int) -> None:
    """Ends this process by `kill -9` in one of the calls that reach the disk."""
    original = getattr(disk, name)
    calls = 0

    def aimed(*words: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == call and when != "after":
            if when == "within":
                original(words[0], memoryview(words[1])[: len(words[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        original(*words)
        if calls == call:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(disk, name, aimed)


def start(folder: pathlib.Path, prepare: Callable[[], None]) -> tuple[int, int]:
    """A training: its process, and where its steps can be read."""
    steps, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, steps
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        prepare()
        pathlib.Path("result").write_text(train(write))
        code = 0
    except BaseException as error:
        print(f"the job failed: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def end(training: tuple[int, int], kill: tuple[int, float] | None = None) -> int:
    """Waits for a training, or kills it so many steps and seconds after it began; how it ended."""
    pid, steps = training
    if kill is not None:
        for _ in range(kill[0]):
            os.read(steps, 1)
        time.sleep(kill[1])
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(steps)
    try:
        # Its workers would end by themselves, a little later.
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return code


def trial(folder: pathlib.Path, kills: list[Callable[[], int]]) -> dict[str, Any]:
    """Kills, and then lets the training end."""
    folder.mkdir()
    codes = [kill() for kill in kills]
    codes.append(end(start(folder, lambda: None)))
    result = folder / "result"
    left = sorted(path.name for path in (folder / "checkpoints").iterdir() if not path.name.startswith(".lock"))
    begun = [int(line) for line in (folder / "begun").read_text().split()]
    return {"codes": codes, "begun": begun, "result": result.read_text() if result.exists() else None, "left": left}


def main() -> None:
    torch.set_num_threads(1)
    folder, draw, count = pathlib.Path(sys.argv[1]), random.Random(int(sys.argv[2])), int(sys.argv[3])
    began = time.monotonic()
    plain = trial(folder / "plain", [])
    each = (time.monotonic() - began) / (STEPS_PER_EPOCH * EPOCHS)
    print(json.dumps(plain), flush=True)

    def at(place: pathlib.Path, step: int, after: float) -> Callable[[], int]:
        return lambda: end(start(place, lambda: None), (step, after))

    def aimed(place: pathlib.Path, name: str, when: str, call: int) -> Callable[[], int]:
        return lambda: end(start(place, lambda: aim(name, when, call)))

    for number in range(count):
        place = folder / f"random{number}"
        # At the fourth step the first checkpoint is on the disk. A second kill may come before the first step is done.
        moments = [(draw.randint(4, 14), draw.uniform(0, each / 4))]
        if draw.random() < 0.5:
            moments.append((draw.randint(0, 3), draw.uniform(0, each / 4)))
        found = trial(place, [at(place, *moment) for moment in moments])
        print(json.dumps({"moments": moments, **found}), flush=True)
    aims = AIMS if count > 10 else [("write", "within"), ("sync", "before"), ("replace", "after")]
    for name, when in aims:
        place = folder / f"{name}-{when}"
        call = draw.randint(2, 6) * (20 if name == "write" else 1)
        found = trial(place, [aimed(place, name, when, call)])
        print(json.dumps({"aim": [name, when, call], **found}), flush=True)


if __name__ == "__main__":
    main()
