"""Why a CUDA job ran out of memory, and which change fixes it.

    import oomph

    oomph.explain("snapshot.pickle")     # a snapshot, a log, a message, an exception; the last failure if none is named
    oomph.status()                       # who holds this machine's memory
    oomph.free()                         # after a failure in a notebook: give back what can be given back
    oomph.budget("12 GiB")               # run as if the card were smaller
    oomph.record()                       # record a part of this program
    oomph.plan("train.py", gpu="T4")     # will it fit, with no GPU
    oomph.fit(step)                      # a training step, in parts where it does not fit
    oomph.checkpoint(model, optimizer)   # save now and then, go on where it was

Importing it costs next to nothing: each part is loaded when it is first used, and no framework is imported for it.
"""

from __future__ import annotations

import sys
from types import ModuleType

# Type checkers take it for true. `typing` has the same name, but importing `typing` takes longer than all of this.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from oomph._oomph import OomphError as OomphError
    from oomph._oomph import parse_size as parse_size
    from oomph.budget import budget as budget
    from oomph.checkpoint import Checkpoint as Checkpoint
    from oomph.checkpoint import checkpoint as checkpoint
    from oomph.explain import Explanation as Explanation
    from oomph.explain import explain as explain
    from oomph.fit import fit as fit
    from oomph.free import free as free
    from oomph.plan import Plan as Plan
    from oomph.plan import plan as plan
    from oomph.record import record as record
    from oomph.status import status as status

    __version__: str

# Where each public name lives: its module, and its name there; None is the module itself.
_HOMES: dict[str, tuple[str, str | None]] = {
    "Checkpoint": ("oomph.checkpoint", "Checkpoint"),
    "Explanation": ("oomph.explain", "Explanation"),
    "OomphError": ("oomph._oomph", "OomphError"),
    "Plan": ("oomph.plan", "Plan"),
    "budget": ("oomph.budget", "budget"),
    "callbacks": ("oomph.callbacks", None),
    "checkpoint": ("oomph.checkpoint", "checkpoint"),
    "explain": ("oomph.explain", "explain"),
    "fit": ("oomph.fit", "fit"),
    "free": ("oomph.free", "free"),
    "load_ipython_extension": ("oomph.notebook", "load_ipython_extension"),
    "parse_size": ("oomph._oomph", "parse_size"),
    "plan": ("oomph.plan", "plan"),
    "record": ("oomph.record", "record"),
    "status": ("oomph.status", "status"),
    "unload_ipython_extension": ("oomph.notebook", "unload_ipython_extension"),
}


class _Package(ModuleType):
    """A package whose functions are not hidden by the modules that hold them.

    Python binds every module it imports in its package: after `import oomph.explain` anywhere, `oomph.explain` would be
    the module. Here it stays the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and _HOMES.get(name, (None, None))[1] is not None:
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _load(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        value: object = import_module("oomph._oomph").version()
    elif name in _HOMES:
        module, attribute = _HOMES[name]
        try:
            home = import_module(module)
        except ImportError as error:
            raise ImportError(f"oomph.{name} cannot be loaded: {error}; {_cure(error)}", name=error.name) from None
        value = home if attribute is None else getattr(home, attribute)
    else:
        raise AttributeError(f"module 'oomph' has no attribute {name!r}")
    # From here on Python finds the name without calling this function.
    globals()[name] = value
    return value


# Type checkers know the names from above. Seeing this, they would accept any other name as well.
if not TYPE_CHECKING:
    __getattr__ = _load


def _cure(error: ImportError) -> str:
    missing = (error.name or "oomph").partition(".")[0]
    if missing == "oomph":
        return "install oomph again: pip install --force-reinstall oomph"
    return f"it needs {missing}: pip install {missing}"


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])
