"""Runs a copy of a script in the script's place: under its name, with its arguments, beside the modules it imports.

    python as_script.py COPY SCRIPT [ARGS]...

It is a program of its own, in the folder that lends the recorder to other environments.
"""

from __future__ import annotations

import builtins
import importlib
import linecache
import os
import sys
from types import ModuleType


def main() -> None:
    copy, script, *words = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[0] = os.path.dirname(here)
    fixes = importlib.import_module(f"{os.path.basename(here)}.trial_fixes")
    for function in fixes.ALL:
        setattr(builtins, function.__name__, function)
    with open(copy, "rb") as file:
        source = file.read()
    text = source.decode("utf-8", "replace")
    # Tracebacks and `inspect` show the lines that run.
    linecache.cache[script] = (len(source), None, text.splitlines(keepends=True), script)
    sys.argv = [script, *words]
    sys.path[0] = os.path.dirname(script)
    module = ModuleType("__main__")
    module.__file__ = script
    module.__builtins__ = builtins  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    exec(compile(source, script, "exec"), module.__dict__)


if __name__ == "__main__":
    main()
