"""Starts oomph's recorder in a Python whose environment has no oomph.

`oomph run` puts this folder in front of PYTHONPATH, so every Python below it comes by here first. The folder leaves
sys.path at once, and a sitecustomize of the environment's own runs as it would have.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _start() -> None:
    try:
        import _oomph_recorder  # type: ignore[import-not-found]

        _oomph_recorder.start()
    except Exception as error:
        if sys.stderr is not None:
            why = f"{type(error).__name__}: {error}"
            print(f"oomph: the recorder could not start ({why}): the script runs without it", file=sys.stderr)
    finally:
        sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _here]


def _run_the_next_one() -> None:
    import importlib.machinery

    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    import importlib.util

    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_start()
_run_the_next_one()
