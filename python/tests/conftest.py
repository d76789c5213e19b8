"""What the tests of the Python package share. They run on the installed wheel, not on the sources."""

from __future__ import annotations

import functools
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
from programs import Programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "verdicts"))

import warm  # noqa: E402

# A shell that starts the tests in the background lets them ignore ^C, and with them every program that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not os.environ.get("OOMPH_ATTACK"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes long: ./x attack runs it"))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not _has_gpu():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no GPU here"))


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


@pytest.fixture(scope="session")
def fixtures() -> pathlib.Path:
    """The folder of real recordings."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def wheel() -> pathlib.Path:
    """The wheel under test."""
    wheels = list((ROOT / "target/tested-wheel").glob("*.whl"))
    assert len(wheels) == 1, f"`./x test` makes one wheel; there are {len(wheels)} in target/tested-wheel"
    return wheels[0]


@pytest.fixture(scope="session")
def oomph_bin() -> str:
    """The command that was installed with the package."""
    from oomph.__main__ import command

    program = command()
    assert program is not None, "install the wheel: `./x test` does"
    return program


@pytest.fixture(scope="session")
def phantom() -> str:
    """The library that makes PyTorch see a GPU that is not there, as it was built last."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [target / profile / "liboomph_phantom.so" for profile in ("debug", "release")]
    found = [path for path in built if path.exists()]
    if not found:
        pytest.skip("liboomph_phantom.so is not built: cargo build -p oomph-phantom")
    return str(max(found, key=lambda path: path.stat().st_mtime).resolve())


@pytest.fixture(scope="session")
def warm_python(phantom: str, torch: ModuleType) -> Iterator[str]:
    """Stands in for the interpreter, and has imported PyTorch already; see verdicts/warm.py."""
    with warm.python(sys.executable, phantom) as stand_in:
        yield stand_in


@pytest.fixture(scope="session")
def warm_python_alone(torch: ModuleType) -> Iterator[str]:
    """The same, without that GPU."""
    with warm.python(sys.executable, None) as stand_in:
        yield stand_in


@pytest.fixture
def programs(oomph_bin: str, phantom: str, warm_python: str, tmp_path: pathlib.Path) -> Programs:
    """Runs programs under `oomph run`, on such a GPU."""
    return Programs(oomph_bin, phantom, warm_python, tmp_path)


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """torch, where it is installed."""
    module: ModuleType = pytest.importorskip("torch", reason="torch is not installed here")
    return module


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Runs code in an interpreter of its own and gives what it prints; whatever it says on standard error fails."""

    def run(code: str, *arguments: str, python: str = sys.executable, **environment: str) -> str:
        done = subprocess.run(
            [python, "-c", code, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, **environment},
        )
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    return run


@pytest.fixture
def run_warm_python(run_python: Callable[..., str], warm_python_alone: str) -> Callable[..., str]:
    """The same for code that imports PyTorch and uses no GPU."""
    return functools.partial(run_python, python=warm_python_alone)
