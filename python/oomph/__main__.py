"""`python -m oomph`: the command of the same installation, whatever PATH says."""

from __future__ import annotations

import os
import pathlib
import sys
import sysconfig
from importlib import metadata


def command() -> str | None:
    """The program that was installed with this package."""
    try:
        installed = metadata.files("oomph") or []
    except metadata.PackageNotFoundError:
        installed = []
    candidates = [pathlib.Path(str(file.locate())) for file in installed if file.name == "oomph"]
    candidates += [pathlib.Path(sysconfig.get_path("scripts"), "oomph")]
    candidates += [pathlib.Path(sys.executable).with_name("oomph")]
    return next((str(path) for path in candidates if os.access(path, os.X_OK) and path.is_file()), None)


def main() -> None:
    """Becomes the command; returns only where there is none."""
    program = command()
    if program is None:
        sys.exit("oomph: the command is not installed beside this package: `pip install --force-reinstall oomph`")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
