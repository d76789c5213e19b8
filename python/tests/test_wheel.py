"""The wheel: what is in it, and what installing and removing it does to an environment."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Environment:
    """A virtual environment made for a test."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.python = str(folder / "bin/python")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)

    def pip(self, *words: str) -> str:
        quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1"}
        done = subprocess.run(
            [self.python, "-m", "pip", *words], capture_output=True, text=True, check=True, env=quiet
        )
        return done.stdout

    def distributions(self) -> set[str]:
        return {found["name"] for found in json.loads(self.pip("list", "--format", "json"))}

    def files(self) -> set[str]:
        """All files but those of pip, which compiles itself as it runs."""
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*") if not path.is_dir())
        return {str(path) for path in found if not {"pip", "setuptools"} & set(path.parts)}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory, wheel: pathlib.Path) -> Environment:
    """An environment with nothing but the wheel."""
    environment = Environment(tmp_path_factory.mktemp("fresh") / "env")
    environment.pip("install", "--no-deps", str(wheel))
    return environment


def test_it_holds_the_package_the_command_and_the_hook(wheel: pathlib.Path) -> None:
    sources = (path.relative_to(ROOT / "python").as_posix() for path in (ROOT / "python/oomph").rglob("*.*"))
    package = {path for path in sources if "__pycache__" not in path}
    version = wheel.name.split("-")[1]
    info = f"oomph-{version}.dist-info"
    assert set(zipfile.ZipFile(wheel).namelist()) == package | {
        "oomph/_oomph.abi3.so",
        f"oomph-{version}.data/platlib/oomph/liboomph_phantom.so",
        f"oomph-{version}.data/purelib/oomph.pth",
        f"oomph-{version}.data/scripts/oomph",
        f"{info}/METADATA",
        f"{info}/RECORD",
        f"{info}/WHEEL",
        f"{info}/entry_points.txt",
        f"{info}/licenses/LICENSE-APACHE",
        f"{info}/licenses/LICENSE-MIT",
    }


def test_it_asks_for_no_other_package(wheel: pathlib.Path) -> None:
    version = wheel.name.split("-")[1]
    metadata = zipfile.ZipFile(wheel).read(f"oomph-{version}.dist-info/METADATA").decode()
    assert "Requires-Dist" not in metadata
    assert "Requires-Python: >=3.10\n" in metadata


def test_one_wheel_is_for_every_python_and_says_which_libc_it_needs(wheel: pathlib.Path) -> None:
    interpreter, abi, platform = wheel.stem.split("-")[2:]
    assert (interpreter, abi) == ("cp310", "abi3")
    tag = re.match(r"manylinux_(\d+)_(\d+)_", platform)
    if tag is None:
        pytest.skip(f"the tag {platform} promises no version of glibc")
    archive = zipfile.ZipFile(wheel)
    programs = [name for name in archive.namelist() if name.endswith((".so", "/scripts/oomph"))]
    # The extension module, the phantom GPU, and the command.
    assert len(programs) == 3
    promised = (int(tag[1]), int(tag[2]))
    for name in programs:
        needed = re.findall(rb"GLIBC_(\d+)\.(\d+)", archive.read(name))
        assert max((int(major), int(minor)) for major, minor in needed) <= promised, name


def test_installing_adds_one_distribution_and_removing_leaves_nothing(
    tmp_path: pathlib.Path, wheel: pathlib.Path, run_python: Callable[..., str]
) -> None:
    environment = Environment(tmp_path / "env")
    files, distributions = environment.files(), environment.distributions()
    environment.pip("install", "--no-deps", str(wheel))
    assert environment.distributions() - distributions == {"oomph"}
    added = {pathlib.Path(path).name for path in environment.files() - files}
    assert {"oomph", "oomph.pth", "_oomph.abi3.so", "py.typed"} <= added
    # Compiled files count as well.
    run_python("import oomph; oomph.explain", python=environment.python)
    environment.pip("uninstall", "--yes", "oomph")
    assert environment.files() == files


def test_the_command_and_the_module_are_of_one_version(fresh: Environment, run_python: Callable[..., str]) -> None:
    command = subprocess.run([fresh.folder / "bin/oomph", "--version"], capture_output=True, text=True, check=True)
    module = subprocess.run([fresh.python, "-m", "oomph", "--version"], capture_output=True, text=True, check=True)
    version = run_python("import oomph; print(oomph.__version__)", python=fresh.python).strip()
    assert command.stdout == module.stdout == f"oomph {version}\n"


def test_the_module_runs_as_the_command_does(fresh: Environment, tmp_path: pathlib.Path) -> None:
    missing = str(tmp_path / "missing.pickle")
    command = subprocess.run([fresh.folder / "bin/oomph", "explain", missing], capture_output=True, text=True)
    module = subprocess.run([fresh.python, "-m", "oomph", "explain", missing], capture_output=True, text=True)
    said = (1, "", f"oomph: cannot open {missing}: No such file or directory (os error 2)\n")
    assert (command.returncode, command.stdout, command.stderr) == said
    assert (module.returncode, module.stdout, module.stderr) == said


LOADED = "import sys; print('oomph' in sys.modules)"


def test_the_hook_does_nothing_unless_a_run_is_recorded(
    fresh: Environment, tmp_path: pathlib.Path, run_python: Callable[..., str]
) -> None:
    assert run_python(LOADED, python=fresh.python) == "False\n"
    assert run_python(LOADED, python=fresh.python, OOMPH_RUN="") == "False\n"
    (tmp_path / "run.json").write_text("{}")
    run = {"OOMPH_RUN": str(tmp_path), "OOMPH_PARENT": str(os.getpid())}
    assert run_python(LOADED, python=fresh.python, **run) == "True\n"
    assert {path.name for path in tmp_path.iterdir()} >= {"main.json", "main.pickle"}


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, ""),
        (
            {"OOMPH_RUN": "."},
            "oomph: the recorder could not start (ModuleNotFoundError: No module named 'missing_part'): "
            "the script runs without it\n",
        ),
    ],
)
def test_a_broken_recorder_says_so_and_does_not_keep_python_from_starting(
    fresh: Environment, tmp_path: pathlib.Path, variables: dict[str, str], said: str
) -> None:
    (tmp_path / "oomph").mkdir()
    (tmp_path / "oomph/__init__.py").write_text("import missing_part\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), **variables}
    words = [fresh.python, "-c", "print('started')"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", said)
    # Where nobody listens, it starts as well.
    silent = subprocess.run(["sh", "-c", 'exec "$0" "$@" 2>&-', *words], capture_output=True, text=True, env=environment)
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "started\n", "")


def test_a_broken_package_leaves_the_recording_to_the_copy_that_a_run_brings(
    fresh: Environment, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "oomph").mkdir()
    (tmp_path / "oomph/__init__.py").write_text("import missing_part\n")
    words = [fresh.folder / "bin/oomph", "run", "--python", fresh.python, "-c", "print('started')"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")
    assert (tmp_path / ".oomph/last/main.pickle").exists()
