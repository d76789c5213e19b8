"""The types of the installed package, as a user's type checker sees them."""

from __future__ import annotations

import pathlib
import subprocess
import sys

USE = """
import pathlib
import oomph

found: oomph.Explanation = oomph.explain("train.log", limit="12 GiB")
text: str = found.text
size: int = oomph.parse_size("12 GiB")
version: str = oomph.__version__
try:
    oomph.explain(pathlib.Path("snapshot.pickle")).save_html("why.html")
except oomph.OomphError as error:
    print(error)
"""


# A checker that reads PyTorch, too, takes half a minute for it.
SETTINGS = """
[mypy]
strict = True
[mypy-torch.*]
follow_imports = skip
"""


def checked(folder: pathlib.Path, code: str) -> list[str]:
    (folder / "use.py").write_text(code)
    (folder / "mypy.ini").write_text(SETTINGS)
    done = subprocess.run([sys.executable, "-m", "mypy", "use.py"], capture_output=True, text=True, cwd=folder)
    return done.stdout.splitlines()


def test_right_use_passes_strict_checks(tmp_path: pathlib.Path) -> None:
    assert checked(tmp_path, USE) == ["Success: no issues found in 1 source file"]


def test_wrong_use_does_not(tmp_path: pathlib.Path) -> None:
    assert checked(tmp_path, "import oomph\noomph.explain(1)\noomph.explian()\n") == [
        'use.py:2: error: Argument 1 to "explain" has incompatible type "int"; '
        'expected "str | PathLike[str] | BaseException | None"  [arg-type]',
        'use.py:3: error: Module has no attribute "explian"; maybe "explain"?  [attr-defined]',
        "Found 2 errors in 1 file (checked 1 source file)",
    ]
