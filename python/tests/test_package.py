"""`import oomph` and its names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import oomph


def test_importing_loads_neither_a_framework_nor_the_extension(run_python: Callable[..., str]) -> None:
    code = """
import sys
before = set(sys.modules)
import oomph
print(sorted(name for name in set(sys.modules) - before if name.partition(".")[0] in {names}))
"""
    names = {"oomph", "torch", "jax", "tensorflow", "numpy", "IPython", "transformers"}
    assert run_python(code.replace("{names}", repr(names))) == "['oomph']\n"


def test_explaining_loads_no_framework(run_python: Callable[..., str]) -> None:
    code = """
import sys, oomph
oomph.explain("RuntimeError: CUDA error: out of memory")
print([name for name in ("torch", "jax", "tensorflow", "numpy", "IPython") if name in sys.modules])
"""
    assert run_python(code) == "[]\n"


def test_a_module_does_not_hide_the_function_it_holds(run_python: Callable[..., str]) -> None:
    code = """
import oomph.explain
from oomph.explain import Explanation
print(oomph.explain.__class__.__name__, oomph.Explanation is Explanation)
"""
    assert run_python(code) == "function True\n"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="^module 'oomph' has no attribute 'explian'$"):
        getattr(oomph, "explian")


def check_loading(run_python: Callable[..., str], absent: str, expected: str) -> None:
    """What is said where a module is absent that the notebook's part needs."""
    code = f"""
import importlib.util, sys, oomph
class Notebook:
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "oomph.notebook" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        import {absent}
sys.meta_path.insert(0, Notebook())
sys.modules[{absent!r}] = None
try:
    oomph.load_ipython_extension
except ImportError as error:
    print(error)
"""
    assert run_python(code) == f"oomph.load_ipython_extension cannot be loaded: import of {absent} halted; {expected}\n"


def test_a_part_whose_needs_are_not_met_says_what_to_install(run_python: Callable[..., str]) -> None:
    check_loading(run_python, "IPython", "None in sys.modules; it needs IPython: pip install IPython")
    check_loading(
        run_python,
        "oomph._missing",
        "None in sys.modules; install oomph again: pip install --force-reinstall oomph",
    )


def test_sizes_are_read_as_people_write_them() -> None:
    assert oomph.parse_size("12 GiB") == 12 << 30
    with pytest.raises(oomph.OomphError) as raised:
        oomph.parse_size("a lot")
    assert str(raised.value) == (
        "`a lot` is not a size: write a number and a unit, such as 12GiB, 512MiB or 1073741824"
    )


def test_names_are_listed() -> None:
    assert "explain" in dir(oomph) and "__version__" in dir(oomph)
