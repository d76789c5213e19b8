"""`oomph.checkpoint` in one process: what is saved, what is loaded, and what is passed over."""

from __future__ import annotations

import collections
import errno
import os
import pathlib
import pickle
import random
import resource
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed here")

import oomph  # noqa: E402
from oomph._checkpoint import disk, every, file  # noqa: E402
from oomph._checkpoint.copies import Copies  # noqa: E402
from oomph._checkpoint.tree import Encoder, decode  # noqa: E402

torch.set_num_threads(1)


class Job:
    """A small model that learns, in a folder of its own."""

    def __init__(self, folder: pathlib.Path, width: int = 4, **options: Any) -> None:
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Dropout(0.2), torch.nn.Linear(width, 2))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        options = {"every": 2, "folder": folder, **options}
        self.saved = oomph.checkpoint(self.model, self.optimizer, **options)

    def learn(self) -> None:
        self.optimizer.zero_grad()
        self.model(torch.rand(3, 4)).sum().backward()
        self.optimizer.step()

    def run(self, steps: int) -> Job:
        for _ in self.saved.steps(steps):
            self.learn()
        self.saved.close()
        return self

    @property
    def weights(self) -> list[Any]:
        return [tensor.tolist() for tensor in self.model.state_dict().values()]


def names(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("oomph: ") for line in lines), lines
    return [line.removeprefix("oomph: ") for line in lines]


def test_a_job_goes_on_after_its_last_checkpoint(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = Job(tmp_path / "whole").run(9)
    job = Job(tmp_path / "parts")
    for step in job.saved.steps(9):
        if step == 5:
            break
        job.learn()
    job.saved.close()
    assert said(capsys) == []
    later = Job(tmp_path / "parts")
    assert later.saved.steps_done == 4
    later.run(9)
    assert later.weights == whole.weights
    assert said(capsys) == [f"going on after step 4, from {tmp_path}/parts/000002-step-4.oomph"]
    assert Job(tmp_path / "parts").run(9).weights == whole.weights


def test_files_are_this_users_alone(tmp_path: pathlib.Path) -> None:
    Job(tmp_path / "new").run(2)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()] == [0o600, 0o600]


def test_the_newest_are_kept_and_another_jobs_are_left_alone(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Job(tmp_path, width=8).run(2)
    Job(tmp_path, keep=2).run(10)
    assert names(tmp_path) == ["000001-step-2.oomph", "000005-step-8.oomph", "000006-step-10.oomph"]
    (line,) = said(capsys)
    assert line.startswith(f"{tmp_path}/000001-step-2 is passed over: it is another job's: it holds a Sequential of 58 numbers (")
    # What is made later is newer, whatever step it has.
    Job(tmp_path, keep=1, resume=False).run(2)
    assert names(tmp_path) == ["000001-step-2.oomph", "000007-step-2.oomph"]


def test_random_numbers_and_plain_values_are_loaded(tmp_path: pathlib.Path) -> None:
    numpy = pytest.importorskip("numpy")
    own, extra = torch.Generator(), {"best": 0.25, "names": ("a", 1)}
    job = oomph.checkpoint(own, random.Random(3), numpy.random.default_rng(4), folder=tmp_path, extra=extra)
    job.save()
    job.close()
    drawn = [random.random(), numpy.random.rand(), torch.rand(1), torch.rand(1, generator=own)]
    loaded: dict[str, Any] = {}
    again = oomph.checkpoint(own, random.Random(9), numpy.random.default_rng(9), folder=tmp_path, extra=loaded)
    again.close()
    assert drawn == [random.random(), numpy.random.rand(), torch.rand(1), torch.rand(1, generator=own)]
    assert loaded == extra


def round_trip(value: Any, path: pathlib.Path) -> Any:
    encoder = Encoder()
    tree = encoder.encode(value, "x")
    file.write(str(path), f"{path}.part", {}, tree, Copies().take(encoder.leaves))
    found = file.read(str(path))
    return decode(found.tree, found.leaves)


def test_every_kind_of_value_comes_back_as_it_was(tmp_path: pathlib.Path) -> None:
    numpy = pytest.importorskip("numpy")
    plain: list[Any] = [
        None, True, -3, 1 << 80, 0.1, float("inf"), "ä\udc80", b"\0x", [], (), {}, {1: "a", "1": "b", (2, 3): None}, {4, 5},
        frozenset({6}), collections.deque([1]), collections.Counter("aab"), collections.OrderedDict(z=1, a=2),
        torch.Size([2, 3]), torch.bfloat16, torch.device("cpu"),
    ]  # fmt: skip
    found = round_trip(plain, tmp_path / "plain")
    assert found == plain and [type(item) for item in found] == [type(item) for item in plain]
    kinds = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64]
    tensors = [torch.arange(12).reshape(3, 4).to(kind) for kind in kinds]
    tensors += [torch.tensor(7), torch.empty(0, 3), tensors[0].t(), torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)]
    tensors += [torch.rand(1).expand(3), torch.rand(4, 4)[:, 1:3]]
    for one, other in zip(tensors, round_trip(tensors, tmp_path / "tensors"), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    assert round_trip(tensors[10], tmp_path / "order").stride() == tensors[10].stride()
    arrays = [numpy.arange(6, dtype="<i2").reshape(2, 3), numpy.float32(0.5), numpy.array(2.5), numpy.empty((0, 2))]
    for one, other in zip(arrays, round_trip(arrays, tmp_path / "arrays"), strict=True):
        assert type(one) is type(other) and one.dtype == other.dtype and numpy.array_equal(one, other)


def test_weights_that_are_tied_are_kept_once() -> None:
    encoder = Encoder()
    weight = torch.rand(3, 3)
    encoder.encode({"a": weight, "b": weight.detach(), "c": weight.t()}, "x")
    assert len(encoder.leaves) == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda: 1, "extra['x'] is a builtins.function, which a checkpoint cannot hold"),
        (torch.rand(2).to_sparse(), "extra['x'] is a Tensor of layout torch.sparse_coo: a checkpoint holds plain tensors"),
        (torch.rand(2, device="meta"), "extra['x'] is a Tensor of layout torch.strided: a checkpoint holds plain tensors"),
    ],
)
def test_what_cannot_be_saved_is_said_at_once(value: Any, text: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(oomph.OomphError) as raised:
        oomph.checkpoint(folder=tmp_path, extra={"x": value})
    assert str(raised.value).startswith(text)


def test_wrong_use_is_one_line(tmp_path: pathlib.Path) -> None:
    def line(call: Callable[[], object]) -> str:
        with pytest.raises(oomph.OomphError) as raised:
            call()
        return str(raised.value)

    assert line(lambda: oomph.checkpoint([1], folder=tmp_path)) == (
        "a list cannot be saved: it has no state_dict() and load_state_dict(); plain values go into extra={…}"
    )
    assert line(lambda: oomph.checkpoint(keep=0, folder=tmp_path)) == "keep=0 keeps nothing: write a whole number from 1 on"
    assert line(lambda: list(oomph.checkpoint(folder=tmp_path).batches())) == (
        "0 data loaders were handed over: name the one to read, batches(loader)"
    )
    (tmp_path / "file").write_text("")
    assert line(lambda: oomph.checkpoint(folder=tmp_path / "file")) == (
        f"{tmp_path}/file cannot be made (File exists): name another folder="
    )


def test_times_and_steps_are_read_as_people_write_them() -> None:
    def read(wish: Any) -> tuple[float | None, int | None]:
        found = every.Every(wish)
        return found.seconds, found.steps

    assert [read(wish) for wish in ("10min", "90 s", "1.5h", "2 hours", "30sec")] == [
        (600, None), (90, None), (5400, None), (7200, None), (30, None)
    ]  # fmt: skip
    assert [read(wish) for wish in (500, "500", "1 step", "10min, 500 steps", "2m or 7", ("5min", 3))] == [
        (None, 500), (None, 500), (None, 1), (600, 500), (120, 7), (300, 3)
    ]  # fmt: skip
    for wrong in ("", "soon", 0, -1, "0min", "1.5 steps", "1min 2min", "1min, 2h", [], None, True, "10 parsecs"):
        with pytest.raises(oomph.OomphError, match="says no time: write '10min'"):
            every.Every(wrong)


def small(folder: pathlib.Path) -> pathlib.Path:
    saved = oomph.checkpoint(torch.nn.Linear(2, 1), folder=folder, extra={"a": [1, 2.5]})
    saved.save()
    saved.close()
    return folder / "000001-step-0.oomph"


def test_a_file_that_is_cut_off_anywhere_or_longer_is_not_believed(tmp_path: pathlib.Path) -> None:
    path = small(tmp_path)
    data = path.read_bytes()
    file.read(str(path))
    for length in [*range(0, len(data), 7), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(file.Damaged):
            file.read(str(path))
    path.write_bytes(data + b"x")
    with pytest.raises(file.Damaged):
        file.read(str(path))


def test_a_file_with_any_bit_flipped_is_not_believed(tmp_path: pathlib.Path) -> None:
    path = small(tmp_path)
    data = bytearray(path.read_bytes())
    draw = random.Random(1)
    for place in range(0, len(data), 1 if os.environ.get("OOMPH_ATTACK") else 5):
        flipped = bytearray(data)
        flipped[place] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(file.Damaged):
            file.read(str(path))


DAMAGES: dict[str, tuple[Callable[[pathlib.Path], object], str]] = {
    "empty": (lambda path: path.write_bytes(b""), "it is empty"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "its end is missing"),
    "short": (lambda path: path.write_bytes(path.read_bytes()[:20]), "it is cut off"),
    "text": (lambda path: path.write_text("hello, this is a text and no checkpoint"), "it does not begin like a checkpoint"),
    "flip": (
        lambda path: path.write_bytes(path.read_bytes()[:20] + b"\xff" + path.read_bytes()[21:]),
        "the checksum of part 0 is wrong",
    ),
    "folder": (lambda path: (path.unlink(), path.mkdir()), "it is not a file"),
    "link": (lambda path: (path.rename(f"{path}.x"), path.symlink_to(f"{path}.x")), "it is not a file"),
    "pipe": (lambda path: (path.unlink(), os.mkfifo(path)), "it is not a file"),
    "renamed": (lambda path: path.with_name("000002-step-4.oomph").replace(path), "its name is not its own: a file was renamed"),
    "part": (
        lambda path: path.rename(path.with_name("000003-step-6.rank0of2.oomph")),
        "2 ranks made it, and this job has one process",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_checkpoint_is_passed_over_and_said(
    kind: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Job(tmp_path / "whole").run(8)
    folder = tmp_path / "job"
    Job(folder, keep=3).run(6)
    damage, why = DAMAGES[kind]
    damage(folder / "000003-step-6.oomph")
    said(capsys)
    later = Job(folder)
    last = (2, "000001-step-2") if kind == "renamed" else (4, "000002-step-4")
    assert said(capsys) == [
        f"{folder}/000003-step-6 is passed over: {why}",
        f"going on after step {last[0]}, from {folder}/{last[1]}.oomph",
    ]
    assert later.run(8).weights == whole.weights


def test_where_nothing_is_whole_the_job_begins_anew(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    Job(tmp_path, keep=1).run(2)
    (tmp_path / "000001-step-2.oomph").write_bytes(b"")
    assert Job(tmp_path).saved.steps_done == 0
    assert said(capsys) == [f"{tmp_path}/000001-step-2 is passed over: it is empty"]


def test_loading_runs_nothing_that_is_in_a_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something was unpickled")

    Job(tmp_path).run(2)
    for module, name in ((pickle, "loads"), (pickle, "load"), (pickle, "Unpickler"), (torch, "load")):
        monkeypatch.setattr(module, name, refuse)
    assert Job(tmp_path).saved.steps_done == 2
    with pytest.raises(ValueError, match="a os.system, which is unknown"):
        decode({"is": "os.system", "of": ["true"]}, [])
    with pytest.raises(ValueError, match="no type of numbers is called load"):
        decode({"is": "dtype", "of": "load"}, [])


@pytest.mark.parametrize("place", ["write", "sync", "replace", "sync_folder"])
def test_a_disk_that_fails_costs_a_checkpoint_and_not_the_job(
    place: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Job(tmp_path / "whole").run(6)
    folder = tmp_path / "job"
    Job(folder, keep=1).run(2)
    before = (folder / "000001-step-2.oomph").read_bytes()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    job = Job(folder, keep=1)
    said(capsys)
    for step in job.saved.steps(6):
        if step == 2:
            monkeypatch.setattr(disk, place, full)
        if step == 4:
            job.saved.wait()
            monkeypatch.undo()
            if place != "sync_folder":
                # It has its name by then; whether that is on the disk is not known.
                assert names(folder) == ["000001-step-2.oomph"]
            assert (folder / "000001-step-2.oomph").read_bytes() == before
            assert said(capsys) == [
                f"{folder}/000002-step-4.oomph is not saved (No space left on device): the job goes on, and the checkpoint "
                "before it stays"
            ]
        job.learn()
    job.saved.close()
    assert names(folder) == ["000003-step-6.oomph"] and job.weights == whole.weights


def test_a_file_that_may_not_grow_is_a_full_disk(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    Job(tmp_path).run(2)
    job = Job(tmp_path)
    said(capsys)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for step in job.saved.steps(6):
        if step == 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
        if step == 4:
            job.saved.wait()
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            assert names(tmp_path) == ["000001-step-2.oomph"]
        job.learn()
    job.saved.close()
    (line,) = said(capsys)
    assert line.startswith(f"{tmp_path}/000002-step-4.oomph is not saved (File too large): the job goes on")
    assert names(tmp_path) == ["000001-step-2.oomph", "000003-step-6.oomph"]


def test_the_state_of_the_step_is_saved_while_the_job_goes_on(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    go = threading.Event()
    original = disk.write

    def slow(*words: Any) -> None:
        assert go.wait(60)
        original(*words)

    job = Job(tmp_path, every=100)
    job.learn()
    expected = job.weights
    monkeypatch.setattr(disk, "write", slow)
    job.saved.save()
    job.learn()
    assert job.weights != expected
    go.set()
    job.saved.close()
    assert Job(tmp_path).weights == expected


def test_the_copies_in_host_memory_are_made_once(tmp_path: pathlib.Path) -> None:
    job = Job(tmp_path, every=1)
    job.run(2)
    buffers = [buffer.data_ptr() for buffer in job.saved._copies._buffers if buffer is not None]
    job = Job(tmp_path, every=1)
    taken: list[list[int]] = []
    for _ in job.saved.steps(6):
        job.learn()
        job.saved.wait()
        taken.append([buffer.data_ptr() for buffer in job.saved._copies._buffers if buffer is not None])
    assert buffers and taken[2] == taken[3]


def run_script(folder: pathlib.Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120)


def test_a_folder_belongs_to_one_job_and_a_killed_one_leaves_it(tmp_path: pathlib.Path) -> None:
    code = """
import os, sys, torch, oomph
saved = oomph.checkpoint(folder="here")
print(os.getpid(), flush=True)
if os.fork() == 0:      # as a worker of a data loader, which outlives its parent
    sys.stdin.read()
    os._exit(0)
sys.stdin.read()
"""
    first = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    pid = first.stdout.readline().strip()
    with pytest.raises(oomph.OomphError) as raised:
        oomph.checkpoint(folder=tmp_path / "here")
    assert str(raised.value) == (
        f"{tmp_path}/here is in use by another job (process {pid}): give each job a folder of its own, folder="
    )
    first.kill()
    first.wait()
    oomph.checkpoint(folder=tmp_path / "here").close()
    first.communicate()


def test_a_second_one_in_the_same_process_takes_the_folder_over(tmp_path: pathlib.Path) -> None:
    first, second = Job(tmp_path), Job(tmp_path)
    with pytest.raises(oomph.OomphError, match="was closed, or a later oomph.checkpoint\\(\\) has it: nothing is saved"):
        first.saved.save()
    second.run(2)


def test_the_last_checkpoint_is_finished_at_exit(tmp_path: pathlib.Path) -> None:
    code = """
import time, torch, oomph
from oomph._checkpoint import disk
original = disk.sync
def slow(number):
    time.sleep(0.5)
    original(number)
disk.sync = slow
saved = oomph.checkpoint(torch.nn.Linear(2, 2), folder="here", every=1)
for step in saved.steps(9):
    if step == 1:
        raise SystemExit("done")
"""
    done = run_script(tmp_path, code)
    assert (done.returncode, done.stderr) == (1, "done\n")
    assert names(tmp_path / "here") == ["000001-step-1.oomph"]


def test_half_written_files_of_a_killed_job_are_removed(tmp_path: pathlib.Path) -> None:
    Job(tmp_path).run(2)
    (tmp_path / ".000002-step-4.oomph.part").write_bytes(b"OOMPHCK1")
    (tmp_path / "notes.part").write_bytes(b"mine")
    Job(tmp_path).saved.close()
    assert names(tmp_path) == ["000001-step-2.oomph", "notes.part"]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Folders of earlier tests are let go."""
    yield
    from oomph._checkpoint import folder, say

    for lock in list(folder._held.values()):
        lock.release()
    say._said.clear()
