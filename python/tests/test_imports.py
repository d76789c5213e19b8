"""How the recorder learns that a program imports a framework."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import sys
import zipfile
from collections.abc import Iterator

import pytest
from oomph._recorder import imports


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """A folder to import from; finders and modules are as before when the test ends."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def watched(name: str) -> list[str]:
    """What is called back of an import, in order, from now on."""
    seen: list[str] = []
    imports.watch({name: lambda: seen.append("before")}, {name: lambda module: seen.append(module.__name__)})
    return seen


def test_a_lookup_is_no_import(folder: pathlib.Path) -> None:
    (folder / "framework.py").write_text("value = 1")
    plain = importlib.util.find_spec("framework")
    seen = watched("framework")
    spec = importlib.util.find_spec("framework")
    assert spec is not None and plain is not None
    assert (type(spec.loader), spec.origin, seen) == (type(plain.loader), plain.origin, [])
    module = importlib.import_module("framework")
    assert seen == ["before", "framework"]
    assert module.__loader__ is module.__spec__.loader and "exec_module" not in vars(module.__loader__)
    importlib.reload(module)
    assert seen == ["before", "framework"]


def test_an_import_that_failed_is_called_back_when_it_succeeds(folder: pathlib.Path) -> None:
    (folder / "framework.py").write_text("raise ImportError('not yet')")
    seen = watched("framework")
    with pytest.raises(ImportError, match="not yet"):
        importlib.import_module("framework")
    assert seen == ["before"]
    (folder / "framework.py").write_text("value = 123456789")
    importlib.invalidate_caches()
    importlib.import_module("framework")
    assert seen == ["before", "framework"]


def test_the_loader_of_an_archive_has_other_modules_too(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("other.py", "")
        archive.writestr("framework.py", "import other")
    monkeypatch.syspath_prepend(folder / "all.zip")
    seen = watched("framework")
    importlib.import_module("framework")
    assert seen == ["before", "framework"] and "other" in sys.modules


def test_what_is_imported_already_is_called_back_at_once(folder: pathlib.Path) -> None:
    (folder / "framework.py").write_text("")
    importlib.import_module("framework")
    assert watched("framework") == ["framework"]


def test_two_may_wait_for_the_same_module(folder: pathlib.Path) -> None:
    (folder / "oomph_twice.py").write_text("x = 1\n")
    first, second = watched("oomph_twice"), watched("oomph_twice")
    importlib.import_module("oomph_twice")
    assert first == second == ["before", "oomph_twice"]
