"""A second user of the machine, who controls the directory that oomph is started in, the folders above it, the temporary
folder, and the environment that `sudo` keeps. Nothing of his is run, nothing of the victim's is changed, nothing waits
forever, and no gigabyte is used. It takes root, who can be both users."""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

# An interpreter that every user may run; that of the tests may lie in root's home.
PYTHON = "/usr/bin/python3"
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not os.path.exists(PYTHON), reason=f"two users take root, and {PYTHON}"
)

ATTACKER = 54321
# One for each process that runs tests: a user has one folder among the temporary files.
VICTIM = 54322 + int("0" + os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw"))
MEMORY = 600 << 20
# Runs a command as a user and writes its exit code and the most memory that it used. A process of its own: the system
# counts what the process that starts a command uses as used by the command, and the process of the tests is large.
MEASURED = """
import json, os, resource, subprocess, sys
user, environment, usage, *command = sys.argv[1:]
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
code = subprocess.call(command, env=json.loads(environment))
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
os.write(int(usage), json.dumps([code, memory]).encode())
"""


@dataclasses.dataclass
class Done:
    """How oomph ended, what it said, and the most memory that it used."""

    returncode: int
    stdout: bytes
    stderr: bytes
    memory: int


@dataclasses.dataclass
class Scene:
    """A directory of the attacker's with a script of the victim's in it, and what must not change."""

    oomph: str
    folder: pathlib.Path
    # What the victim has elsewhere.
    treasure: pathlib.Path
    # Appears when the attacker's code runs.
    canary: pathlib.Path
    victim: int = VICTIM
    environment: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def evil(self) -> str:
        """Code of the attacker's."""
        return f"open({str(self.canary)!r}, 'w').close()\n"

    def plant(self, name: str, text: str | bytes = "", mode: int = 0o644) -> pathlib.Path:
        """A file of the attacker's."""
        path = self.folder / name
        for above in reversed(path.relative_to(self.folder).parents[:-1]):
            if not (self.folder / above).exists():
                self.plant_folder(str(above))
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        os.chown(path, ATTACKER, ATTACKER)
        return path

    def plant_folder(self, name: str, owner: int = ATTACKER, mode: int = 0o777) -> pathlib.Path:
        path = self.folder / name
        path.mkdir()
        path.chmod(mode)
        os.chown(path, owner, owner)
        return path

    def plant_link(self, name: str, to: pathlib.Path | str) -> None:
        (self.folder / name).symlink_to(to)
        os.lchown(self.folder / name, ATTACKER, ATTACKER)

    def plant_pipe(self, name: str) -> None:
        os.mkfifo(self.folder / name)
        os.chmod(self.folder / name, 0o666)

    def program(self, name: str) -> pathlib.Path:
        """A program of the attacker's, that any interpreter would be replaced by."""
        return self.plant(name, f"#!/bin/sh\ntouch {self.canary}\nexec {PYTHON} \"$@\"\n", 0o755)

    def run(self, *words: str, directory: str = "") -> Done:
        """The victim runs oomph there, for at most a minute."""
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **self.environment}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as usage:
            process = subprocess.Popen(
                [PYTHON, "-ISc", MEASURED, str(self.victim), json.dumps(environment), str(usage.fileno()), self.oomph, *words],
                cwd=self.folder / directory, env={}, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                pass_fds=[usage.fileno()], start_new_session=True,
            )  # fmt: skip
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                pytest.fail(f"{words} does not end")
            for file in (out, err, usage):
                file.seek(0)
            returncode, memory = json.loads(usage.read())
            return Done(returncode, out.read(), err.read(), memory)

    def runs_script(self, *options: str, directory: str = "") -> None:
        """`oomph run` runs the victim's script as it is."""
        done = self.run("run", *options, "--python", PYTHON, str(self.folder / "train.py"), directory=directory)
        assert (done.returncode, done.stdout) == (0, b"trained\n"), done


@pytest.fixture
def scene(oomph_bin: str) -> Iterator[Scene]:
    root = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    root.chmod(0o755)
    scene = Scene(oomph_bin, root / "shared", root / "treasure", root / "canary" / "ran")
    scene.canary.parent.mkdir(mode=0o777)
    scene.canary.parent.chmod(0o777)
    scene.treasure.mkdir(mode=0o700)
    (scene.treasure / "file").write_text("precious")
    for path in (scene.treasure, scene.treasure / "file"):
        os.chown(path, VICTIM, VICTIM)
    scene.folder.mkdir()
    scene.folder.chmod(0o777)
    os.chown(scene.folder, ATTACKER, ATTACKER)
    (scene.folder / "train.py").write_text("import json\nprint('trained')\n")
    yield scene
    shutil.rmtree(root)
    for place in pathlib.Path("/tmp").glob(f"oomph-{VICTIM}*"):
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()


def unharmed(scene: Scene) -> None:
    assert not scene.canary.exists(), "code of the attacker's was run"
    assert [path.name for path in scene.treasure.iterdir()] == ["file"], "something was written"
    assert (scene.treasure / "file").read_text() == "precious", "something was overwritten"


Attack = Callable[[Scene], Any]
RUNS: dict[str, Attack] = {}
READS: dict[str, Attack] = {}


def attack(kind: dict[str, Attack]) -> Callable[[Attack], Attack]:
    def keep(function: Attack) -> Attack:
        kind[function.__name__] = function
        return function

    return keep


@attack(RUNS)
def a_module_in_the_recorders_folder(scene: Scene) -> None:
    scene.plant(".oomph/hook-0.1.0/json.py", scene.evil)


@attack(RUNS)
def a_sitecustomize_in_the_recorders_folder(scene: Scene) -> None:
    scene.plant(".oomph/hook-0.1.0/sitecustomize.py", scene.evil)


@attack(RUNS)
def links_where_files_are_written_before_they_are_moved(scene: Scene) -> None:
    scene.plant(".oomph/hook-0.1.0/x")
    for pid in range(1, 3000):
        scene.plant_link(f".oomph/hook-0.1.0/sitecustomize.py.{os.getpid() + pid}", scene.treasure / "file")


@attack(RUNS)
def the_folder_of_runs_is_a_link(scene: Scene) -> None:
    scene.plant_link(".oomph", scene.treasure)


@attack(RUNS)
def both_folders_of_runs_are_links(scene: Scene) -> None:
    scene.plant_link(".oomph", scene.treasure)
    scene.plant_link(f".oomph-{VICTIM}", scene.treasure)


@attack(RUNS)
def the_folder_of_runs_is_another_s_with_links_in_it(scene: Scene) -> None:
    scene.plant_folder(".oomph")
    scene.plant_link(".oomph/.gitignore", scene.treasure / "file")
    scene.plant_link(".oomph/last", scene.treasure)


@attack(RUNS)
def the_victims_own_folder_was_open_to_all(scene: Scene) -> None:
    scene.plant_folder(".oomph", VICTIM, 0o777)
    scene.plant_link(".oomph/.gitignore", scene.treasure / "file")
    scene.plant(".oomph/hook-0.1.0/json.py", scene.evil)


@attack(RUNS)
def a_pipe_where_the_project_is_described(scene: Scene) -> None:
    scene.plant_pipe("pyproject.toml")


@attack(RUNS)
def a_project_that_is_another_s_file(scene: Scene) -> None:
    scene.plant_link("pyproject.toml", scene.treasure / "file")


@attack(RUNS)
def a_home_of_the_attackers(scene: Scene) -> None:
    scene.plant(".cache/oomph/x")
    scene.environment["HOME"] = str(scene.folder)


@attack(RUNS)
def a_home_whose_cache_is_a_link(scene: Scene) -> None:
    scene.plant_folder("home")
    scene.plant_link("home/.cache", scene.treasure)
    scene.environment["HOME"] = str(scene.folder / "home")


@attack(RUNS)
def a_cache_of_the_attackers(scene: Scene) -> None:
    scene.plant("cache/oomph/x")
    scene.environment["XDG_CACHE_HOME"] = str(scene.folder / "cache")


@attack(RUNS)
def a_temporary_folder_of_the_attackers(scene: Scene) -> None:
    scene.plant(f"tmp/oomph-{VICTIM}/x")
    scene.environment["TMPDIR"] = str(scene.folder / "tmp")


@attack(RUNS)
def the_victims_temporary_folder_is_taken(scene: Scene) -> None:
    place = pathlib.Path(f"/tmp/oomph-{VICTIM}")
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    os.chown(place, ATTACKER, ATTACKER)


@attack(RUNS)
def the_victims_temporary_folder_is_a_link(scene: Scene) -> None:
    pathlib.Path(f"/tmp/oomph-{VICTIM}").symlink_to(scene.treasure)


@attack(RUNS)
def a_run_of_the_attackers_in_the_environment(scene: Scene) -> None:
    scene.plant("run/run.json", '{"format": 1}')
    scene.environment["OOMPH_RUN"] = str(scene.folder / "run")


@attack(RUNS)
def a_run_that_is_a_pipe_in_the_environment(scene: Scene) -> None:
    scene.plant_folder("run")
    scene.plant_pipe("run/run.json")
    scene.environment["OOMPH_RUN"] = str(scene.folder / "run")


@attack(RUNS)
def a_colon_in_the_directory(scene: Scene) -> str:
    scene.plant("a:b/json.py", scene.evil)
    return "a:b"


@pytest.mark.parametrize("name", RUNS)
def test_a_script_runs_as_it_is(scene: Scene, name: str) -> None:
    directory = RUNS[name](scene) or ""
    scene.runs_script(directory=directory)
    unharmed(scene)


@pytest.mark.parametrize("where", ["pyproject.toml", "../pyproject.toml"])
def test_another_users_project_names_no_interpreter(scene: Scene, where: str) -> None:
    evil = scene.program("python")
    deeper = scene.plant_folder("deeper")
    scene.plant(os.path.normpath(f"deeper/{where}"), f'[tool.oomph.run]\npython = "{evil}"\n')
    done = scene.run("run", str(scene.folder / "train.py"), directory=deeper.name)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"pyproject.toml" in done.stderr, done
    unharmed(scene)


def test_another_users_library_is_not_loaded(scene: Scene) -> None:
    library = scene.plant("evil.so", b"\x7fELF")
    scene.environment["OOMPH_PHANTOM_LIB"] = str(library)
    done = scene.run("run", "--phantom", "--python", PYTHON, "train.py")
    assert done.returncode != 0 and done.stdout == b"" and done.stderr.count(b"\n") == 1, done
    unharmed(scene)


def snapshot_of_many_devices() -> bytes:
    block = {"size": 512, "requested_size": 512, "state": "active_allocated", "address": 512, "frames": []}
    segments = [
        {"device": n, "address": 512, "total_size": 512, "allocated_size": 512, "active_size": 512, "stream": 0,
         "segment_type": "small", "blocks": [block]}
        for n in range(200_000)
    ]  # fmt: skip
    return gzip.compress(pickle.dumps({"segments": segments, "device_traces": []}))


@attack(READS)
def a_run_whose_notes_are_a_pipe(scene: Scene) -> list[str]:
    scene.plant(".oomph/last/run.json", "{}")
    scene.plant_pipe(".oomph/last/main.json")
    return ["explain", ".oomph/last"]


@attack(READS)
def a_run_whose_recording_is_a_pipe(scene: Scene) -> list[str]:
    scene.plant(".oomph/last/run.json", "{}")
    scene.plant_pipe(".oomph/last/main.pickle")
    return ["explain", ".oomph/last"]


@attack(READS)
def notes_of_ten_gigabytes(scene: Scene) -> list[str]:
    scene.plant(".oomph/last/run.json", "{}")
    os.truncate(scene.plant(".oomph/last/main.json"), 10 << 30)
    return ["explain", ".oomph/last"]


@attack(READS)
def a_project_of_ten_gigabytes(scene: Scene) -> list[str]:
    os.truncate(scene.plant("pyproject.toml"), 10 << 30)
    return ["run", "--python", PYTHON, "train.py"]


@attack(READS)
def more_devices_than_any_machine_has(scene: Scene) -> list[str]:
    scene.plant("many.pickle.gz", snapshot_of_many_devices())
    return ["explain", "many.pickle.gz"]


@pytest.mark.parametrize("name", READS)
def test_reading_neither_waits_nor_grows(scene: Scene, name: str) -> None:
    done = scene.run(*READS[name](scene))
    assert done.returncode in (0, 1, 2, 3) and b"panicked" not in done.stderr, done
    assert done.memory < MEMORY, done
    unharmed(scene)


def test_escapes_in_names_do_nothing_to_the_terminal(scene: Scene) -> None:
    name = "\x1b]0;owned\x07\x1b[2J\u202e.py"
    frames = [{"filename": name, "name": name, "line": 1}]
    block = {"size": 512, "requested_size": 512, "state": "active_allocated", "address": 512, "frames": frames}
    segment = {"device": 0, "address": 512, "total_size": 2 << 20, "stream": 0, "segment_type": "small", "blocks": [block]}
    file = "names\x1b[31m.pickle"
    scene.plant(file, pickle.dumps({"segments": [segment], "device_traces": []}))
    for verb in ("explain", "inspect", "replay", "tune"):
        for words in ([verb, file], [verb, "missing\x1b[2J\u202e"]):
            done = scene.run(*words)
            shown = (done.stdout + done.stderr).decode()
            assert not set(shown) & set("\x1b\x07\u202e\x9b"), (words, shown)


def test_status_of_root_reads_little_of_others(scene: Scene) -> None:
    scene.victim = 0
    run = scene.plant("run/run.json", "{}").parent
    for number in range(150):
        os.truncate(scene.plant(f"run/pid{number}.json"), 16 << 20)
    idle = subprocess.Popen(["sleep", "600"], env={"OOMPH_RUN": str(run)}, user=ATTACKER)
    try:
        done = scene.run("status")
        assert done.returncode == 0 and done.memory < MEMORY, done
    finally:
        idle.kill()
        idle.wait()
