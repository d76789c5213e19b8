"""`oomph diff` on recordings of real PyTorch: a regression is named by its line, a warm-up makes no difference."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import textwrap
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import pytest
from conftest import ROOT

GUIDE = ROOT / "docs/guide/compare-runs.md"
JOBS = pathlib.Path(__file__).parent / "regressions"
# A card that is larger than any of these jobs.
CARD = f"total={139 << 30}"
IMPORTS = "from torch import nn\n"
TOP = "top: "


@dataclasses.dataclass(frozen=True)
class Regression:
    """One edit of a job that makes it need more, and the lines that ask for what it needs more: the right answers."""

    what: str
    job: str
    old: str
    new: str
    top: str
    right: tuple[str, ...]

    def edited(self, source: str) -> str:
        """The job's source with it."""
        assert source.count(self.old) == 1, f"{self.old!r} is not one place of {self.job}.py"
        return source.replace(self.old, self.new).replace(IMPORTS, IMPORTS + self.top)


def _regressions() -> list[Regression]:
    found = []
    for block in (JOBS / "edits.txt").read_text().split("\n=== ")[1:]:
        head, old, new, right = block.split("\n--- ")
        job, what = head.split(": ", 1)
        before, after, answers = (part.rstrip("\n").split("\n")[1:] for part in (old, new, right))
        top = "".join(line[len(TOP) :] + "\n" for line in after if line.startswith(TOP))
        after = [line for line in after if not line.startswith(TOP)]
        found.append(Regression(what, job, "\n".join(before), "\n".join(after), top, tuple(answers)))
    return found


REGRESSIONS = _regressions()


class Bench:
    """Records programs that are called train.py, each once, and compares recordings."""

    def __init__(self, oomph: str, python: str, folder: pathlib.Path) -> None:
        self.oomph = oomph
        self.python = python
        self.folder = folder

    def run(self, name: str, source: str, *command: str) -> pathlib.Path:
        """Runs a program in a folder of its own, which is given."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        (home / "train.py").write_text(source)
        words = [*command, "env", f"OOMPH_PHANTOM={CARD}", self.python, str(home / "train.py")]
        done = subprocess.run(words, cwd=home, env=_environment(), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return home

    def record(self, name: str, source: str) -> pathlib.Path:
        """The folder of its run under `oomph run`."""
        return (self.run(name, source, self.oomph, "run", "-q") / ".oomph" / "last").resolve()

    def diff(self, a: pathlib.Path, b: pathlib.Path, *options: str) -> tuple[int, dict[str, Any]]:
        done = subprocess.run(
            [self.oomph, "diff", str(a), str(b), "--json", *options], capture_output=True, text=True, timeout=300
        )
        assert done.stderr == "", done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return done.returncode, document


def _environment() -> dict[str, str]:
    dropped = ("LD_PRELOAD", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTHONPATH", "RANK")
    return {name: value for name, value in os.environ.items() if name not in dropped}


@pytest.fixture(scope="module")
def bench(oomph_bin: str, warm_python: str, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(oomph_bin, warm_python, tmp_path_factory.mktemp("diff"))


@pytest.fixture(scope="module")
def recorded(bench: Bench) -> dict[str, tuple[str, pathlib.Path]]:
    """The source and the run of every job, and of every job with its regression, by name. Two run at a time."""
    sources = {job: (JOBS / f"{job}.py").read_text() for job in sorted({one.job for one in REGRESSIONS})}
    sources |= {one.what.replace(" ", "-"): one.edited(sources[one.job]) for one in REGRESSIONS}
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda name: bench.record(name, sources[name]), sources)
        return {name: (sources[name], run) for name, run in zip(sources, runs)}


def test_there_are_thirty_regressions_of_six_jobs() -> None:
    assert len(REGRESSIONS) == 30
    assert len({regression.job for regression in REGRESSIONS}) == 6
    assert len({regression.what for regression in REGRESSIONS}) == 30


@pytest.mark.parametrize("regression", REGRESSIONS, ids=lambda one: one.what.replace(" ", "-"))
def test_the_line_of_a_regression_is_named_first(
    bench: Bench, recorded: dict[str, tuple[str, pathlib.Path]], regression: Regression
) -> None:
    _, before = recorded[regression.job]
    edited, after = recorded[regression.what.replace(" ", "-")]
    code, found = bench.diff(before, after, "--fail-over", "0")
    first = found["first"]
    assert first is not None, found
    assert first["text"] in regression.right
    # The number is that of the edited program.
    assert edited.splitlines()[first["place"]["line"] - 1].strip() == first["text"]
    assert first["change_bytes"] > 0
    assert (code, found["gate"]["fails"], found["same"]) == (1, True, False)


@pytest.mark.parametrize("job", ["classifier", "language", "server"])
def test_the_same_job_twice_makes_no_difference(
    bench: Bench, recorded: dict[str, tuple[str, pathlib.Path]], job: str
) -> None:
    source, before = recorded[job]
    # Comments move the lines.
    after = bench.record(f"{job}-again", source.replace(IMPORTS, IMPORTS + "\n# One.\n# Two.\n"))
    code, found = bench.diff(before, after, "--fail-over", "0%")
    assert (code, found["same"], found["requested"]["change_bytes"]) == (0, True, 0), found["lines"]
    assert {line["is"] for line in found["lines"]} == {"same"}


# What a notebook may have done before the cell that is recorded.
WARM_UPS = {
    "nothing": "",
    "a-cache": """
        sizes = [torch.empty(n * 700_001, device="cuda") for n in range(1, 12)]
        del sizes
    """,
    "another-model-that-stays": """
        old = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.Linear(2048, 99)).to("cuda")
        adam = torch.optim.Adam(old.parameters())
        for _ in range(2):
            old(torch.ones(64, 512, device="cuda")).sum().backward()
            adam.step()
    """,
    "holes": """
        held = [torch.empty(3 << 20, device="cuda") for _ in range(40)]
        del held[::2]
        small = [torch.empty(1000, device="cuda") for _ in range(999)]
        del small[::3]
    """,
    "a-cache-given-back": """
        torch.mm(torch.ones(2048, 2048, device="cuda"), torch.ones(2048, 2048, device="cuda"))
        torch.cuda.empty_cache()
        stays = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    """,
}

BY_PYTORCH = """
import torch
torch.cuda.init()
{warm_up}
torch.cuda.memory._record_memory_history(context="alloc", stacks="python")
{job}
torch.cuda.memory._dump_snapshot("recording.pickle")
"""
BY_OOMPH = """
import oomph
import torch
{warm_up}
record = oomph.record("recording.pickle")
record.__enter__()
{job}
record.__exit__(None, None, None)
"""


@pytest.mark.parametrize("way", [BY_PYTORCH, BY_OOMPH], ids=["by-pytorch", "by-oomph"])
def test_the_same_job_after_five_warm_ups_makes_no_difference(bench: Bench, way: str) -> None:
    job = (JOBS / "classifier.py").read_text()
    runs = []
    for name, warm_up in WARM_UPS.items():
        source = way.format(warm_up=textwrap.dedent(warm_up), job=job)
        by = "pytorch" if way is BY_PYTORCH else "oomph"
        runs.append(bench.run(f"{by}-{name}", source) / "recording.pickle")
    differences = []
    for a, b in combinations(runs, 2):
        code, found = bench.diff(a, b, "--fail-over", "0%")
        if (code, found["same"]) != (0, True):
            differences.append((a.parent.name, b.parent.name, found["requested"], found["reserved"]))
    assert (len(WARM_UPS), len(list(combinations(runs, 2))), differences) == (5, 10, [])


def test_an_edited_file_is_not_taken_for_what_it_was(bench: Bench) -> None:
    """Both recordings name one file, which says something else by now: what the lines said is in the recordings."""
    source = (JOBS / "classifier.py").read_text()
    before = bench.record("edited", source)
    after = bench.record("edited", source.replace("        x = self.second", "        x = x.clone()\n        x = self.second"))
    file = bench.folder / "edited" / "train.py"
    file.write_text("# Nothing is left of it.\n" * 60)
    _, found = bench.diff(before, after)
    assert (found["first"]["text"], found["first"]["is"]) == ("x = x.clone()", "new")
    assert {line["place"]["file"] for line in found["lines"] if line["place"]} == {str(file)}


def blocks(kind: str) -> list[str]:
    """What stands in the guide's blocks of this kind."""
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def test_the_guide_shows_what_is_printed(
    bench: Bench, recorded: dict[str, tuple[str, pathlib.Path]], tmp_path: pathlib.Path
) -> None:
    for name, job in (("before", "language"), ("after", "logits-in-double-precision")):
        shutil.copy(recorded[job][1] / "main.pickle", tmp_path / f"{name}.pickle")
    words = [bench.oomph, "diff", "before.pickle", "after.pickle"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert blocks("console") == ["$ oomph diff before.pickle after.pickle\n" + done.stdout]


def test_the_guides_workflow_fails_where_a_change_needs_more(bench: Bench, tmp_path: pathlib.Path) -> None:
    """Every step that runs something runs, in its order; a checkout puts the program there."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed here")
    (workflow,) = blocks("yaml")
    source = (JOBS / "classifier.py").read_text()
    for edited, expected in ((source.replace("BATCH = 512", "BATCH = 768"), 1), (source + "# The end.\n", 0)):
        work = tmp_path / str(expected) / "repository"
        work.mkdir(parents=True)
        versions = [source, edited]
        codes = []
        for step in yaml.safe_load(workflow)["jobs"]["memory"]["steps"]:
            if "uses" in step:
                (work / "train.py").write_text(versions.pop(0))
            elif not step["run"].startswith("pip install "):
                codes.append(_shell(bench, step["run"], work))
        assert codes == [0, 0, 0, expected]


def _shell(bench: Bench, command: str, folder: pathlib.Path) -> int:
    path = os.pathsep.join((os.path.dirname(bench.oomph), os.environ["PATH"]))
    environment = {**_environment(), "PATH": path, "OOMPH_PYTHON": bench.python}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, timeout=300).returncode


def test_the_guides_test_fails_where_a_change_needs_more(bench: Bench, tmp_path: pathlib.Path) -> None:
    (recipe,) = blocks("python")
    source = (JOBS / "classifier.py").read_text().replace("for _ in range(4):\n    train_step()\n", "")
    (tmp_path / "train.py").write_text(source)
    (tmp_path / "test_memory.py").write_text(recipe)
    assert _pytest(bench, tmp_path, "test_memory.py", MEMORY_BASELINE="write")[0] == 0
    # A test that comes first and leaves something in the pool, and a comment.
    leaves = "import torch\n\ndef test_first():\n    global kept\n    kept = [torch.ones(n << 18, device='cuda') for n in range(9)]\n"
    (tmp_path / "test_first.py").write_text(leaves)
    (tmp_path / "train.py").write_text(source.replace(IMPORTS, IMPORTS + "# A comment.\n"))
    code, out = _pytest(bench, tmp_path, "test_first.py", "test_memory.py")
    assert (code, "2 passed" in out) == (0, True), out
    (tmp_path / "train.py").write_text(source.replace("        x = self.second", "        x = x.clone()\n        x = self.second"))
    code, out = _pytest(bench, tmp_path, "test_memory.py")
    assert (code, "train.py:20 forward, 2.00 MiB, new" in out, "x = x.clone()" in out) == (1, True, True), out


def _pytest(bench: Bench, folder: pathlib.Path, *words: str, **variables: str) -> tuple[int, str]:
    path = os.pathsep.join((os.path.dirname(bench.oomph), os.environ["PATH"]))
    environment = {**_environment(), "PATH": path, "OOMPH_PHANTOM": CARD, **variables}
    command = [bench.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr
