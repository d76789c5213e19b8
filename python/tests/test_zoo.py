"""Programs that do what libraries and strange programs do, from the folder `zoo`: each runs alone and under `oomph run`,
and must not be able to tell. Exit code, output and the files that it leaves are compared, byte for byte.

The first lines of a program may say what it needs:

    # args: words, as a shell reads them    # stdin: text    # name: the file's name    # as: module | text
    # gpu: yes                              it uses the GPU: there is a recording, or one line says why not
    # recording: none                       it ends in a way that leaves nobody to write one
    # verdict: yes                          it dies for want of memory, and oomph says why under its output
    # differs: why                          it can tell, and this is why

`./x test` runs those without torch and a few with it; OOMPH_ATTACK=1 runs all.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import pickle
import shlex
import shutil
import subprocess
import sys

import pytest
from programs import T4, Programs

ZOO = pathlib.Path(__file__).with_name("zoo")
# Those with torch that always run, and those of them that have to import it themselves.
SHORT = {
    "torch_subclass", "torch_optimizer_odd", "torch_hooks", "torch_patched", "torch_meta_path", "torch_oom_caught",
    "torch_memory_api", "torch_modes", "torch_getpid",
}  # fmt: skip
COLD = {"torch_meta_path"}


@dataclasses.dataclass
class Animal:
    """A program and what it needs."""

    name: str
    source: str

    def says(self, key: str, default: str = "") -> str:
        """What the header says under a key; escapes stand for bytes."""
        lines = (line.partition(": ") for line in self.source.splitlines()[:6])
        found = next((rest for head, _, rest in lines if head == f"# {key}"), default)
        return os.fsdecode(found.encode().decode("unicode_escape").encode("latin-1"))

    @property
    def file(self) -> str:
        return self.says("name", f"{self.name}.py")

    def words(self) -> list[str]:
        """What stands behind the interpreter, or behind the options of `oomph run`."""
        arguments = shlex.split(self.says("args"))
        how = {"module": ["-m", self.name], "text": ["-c", self.source]}.get(self.says("as"), [self.file])
        return [*how, *arguments]


@dataclasses.dataclass
class Ended:
    """All that a program can be told by."""

    code: int
    stdout: bytes
    stderr: bytes
    files: dict[bytes, bytes | None]


def left(folder: pathlib.Path) -> dict[bytes, bytes | None]:
    """The files below a folder with their contents, and the folders."""
    found: dict[bytes, bytes | None] = {}
    for above, folders, files in os.walk(os.fsencode(folder)):
        folders[:] = [name for name in folders if name not in (b".oomph", b"__pycache__")]
        for name in folders + files:
            path = os.path.join(above, name)
            content = pathlib.Path(os.fsdecode(path)).read_bytes() if name in files else None
            found[os.path.relpath(path, os.fsencode(folder))] = content
    return found


def run(animal: Animal, words: list[str], folder: pathlib.Path, environment: dict[str, str]) -> Ended:
    folder.mkdir()
    (folder / animal.file).write_text(animal.source)
    done = subprocess.run(
        [*words, *animal.words()],
        cwd=folder,
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
        input=animal.says("stdin").encode(),
        capture_output=True,
        timeout=120,
    )
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Ended(code, done.stdout, done.stderr, left(folder))


def recordings(folder: pathlib.Path) -> list[str]:
    """The recordings that hold events of an allocator."""
    found = []
    for path in (folder / ".oomph" / "last").resolve().glob("*.pickle"):
        with open(path, "rb") as file:
            if any(pickle.load(file)["device_traces"]):
                found.append(path.name)
    return found


def chosen() -> list[str]:
    names = sorted(path.stem for path in ZOO.glob("*.py"))
    if os.environ.get("OOMPH_ATTACK"):
        return names
    return [name for name in names if not name.startswith("torch_") or name in SHORT]


@pytest.mark.parametrize("name", chosen())
def test_a_program_cannot_tell(name: str, oomph_bin: str, request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> None:
    animal = Animal(name, (ZOO / f"{name}.py").read_text())
    card = None
    phantom = ""
    python = sys.executable
    if name.startswith("torch_"):
        request.getfixturevalue("torch")
        phantom, card = request.getfixturevalue("phantom"), T4
        if not os.environ.get("OOMPH_ATTACK") and name not in COLD:
            python = request.getfixturevalue("warm_python")
    environment = Programs(oomph_bin, phantom, python, tmp_path).environment(card)
    # Both run in a folder of the same name: programs print it.
    folder = tmp_path / "here"
    alone = run(animal, [python], folder, environment)
    shutil.move(folder, tmp_path / "alone")
    ended = run(animal, [oomph_bin, "run", "-q", "--python", python], folder, environment)
    lines = ended.stderr.splitlines(keepends=True)
    ours = [line for line in lines if line.startswith(b"oomph: ")]
    ended.stderr = b"".join(line for line in lines if line not in ours)
    if animal.says("verdict"):
        ended.stderr, _, verdict = ended.stderr.partition(b"\nout of ")
        assert b"\n  Cause " in verdict, verdict
    if animal.says("differs"):
        assert ended != alone, "it cannot tell any more: take out the line `# differs`"
        pytest.xfail(animal.says("differs"))
    assert (ended.code, ended.stdout, ended.stderr) == (alone.code, alone.stdout, alone.stderr)
    assert ended.files == alone.files
    assert len(ours) <= 1, ours
    if animal.says("gpu") == "yes" and animal.says("recording") != "none":
        assert bool(recordings(folder)) != bool(ours), ours
