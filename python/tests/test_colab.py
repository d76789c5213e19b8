"""docs/colab.ipynb in a real kernel, on a T4 that is not there; the guide beside it shows the same cells and what they show."""

from __future__ import annotations

import functools
import html
import json
import os
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("torch")

from test_notebook import seen  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOK, GUIDE = ROOT / "docs/colab.ipynb", ROOT / "docs/guide/colab.md"
# What the T4 has for programs, as `oomph plan --gpu T4` takes it.
TOTAL = 15_644_418_375
DRIVER = f"driver 580.65.06\ncuda 13000\ngpu Tesla T4\nuuid GPU-1\ncapability 7 5\nmemory {TOTAL} 0 3145728\n"


def driver(folder: pathlib.Path) -> pathlib.Path:
    """A library that answers as NVIDIA's would; see crates/fake-nvml."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [target / profile / "deps/liboomph_fake_nvml.so" for profile in ("debug", "release")]
    found = next((path for path in built if path.exists()), None)
    if found is None:
        pytest.skip("liboomph_fake_nvml.so is not built: cargo build -p oomph-fake-nvml")
    mark = b"oomph fake NVML scenario"
    library = found.read_bytes()
    at = library.index(mark + bytes(1000)) + len(mark)
    path = folder / "nvml.so"
    path.write_bytes(library[:at] + DRIVER.encode() + library[at + len(DRIVER) :])
    return path


@pytest.fixture(scope="module")
def notebook(
    tmp_path_factory: pytest.TempPathFactory, phantom: str, warm_python: str, oomph_bin: str
) -> Iterator[Any]:
    """The notebook, run from its first cell to its last."""
    folder = tmp_path_factory.mktemp("colab")
    for name in ("kernels/colab", "environment/bin", "content"):
        (folder / name).mkdir(parents=True)
    argv = [warm_python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = {"argv": argv, "display_name": "colab", "language": "python"}
    (folder / "kernels/colab/kernel.json").write_text(json.dumps(kernel))
    # What `!oomph plan` takes for the environment's Python.
    (folder / "environment/bin/python").symlink_to(warm_python)
    (folder / "environment/bin/pip").write_text(f'#!/bin/sh\nexec {sys.executable} -m pip "$@"\n')
    (folder / "environment/bin/pip").chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTORCH")}
    environment |= {
        "LD_PRELOAD": phantom,
        "OOMPH_PHANTOM": f"name=Tesla T4;total={TOTAL};capability=7.5;processors=40",
        "OOMPH_PHANTOM_LIB": phantom,
        "OOMPH_NVML": str(driver(folder)),
        "PATH": f"{folder / 'environment/bin'}:{pathlib.Path(oomph_bin).parent}:{os.environ['PATH']}",
        # It is installed, and nothing is asked of the network.
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONWARNINGS": "ignore",
        "VIRTUAL_ENV": str(folder / "environment"),
    }
    found = nbformat.read(NOTEBOOK, 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        client = nbclient.NotebookClient(
            found,
            timeout=500,
            kernel_name="colab",
            allow_errors=True,
            resources={"metadata": {"path": str(folder / "content")}},
        )
        client.execute(env=environment)
    yield found


def cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any) -> list[str]:
    """The lines that stand under a cell, of a traceback the last one."""
    text = ""
    for output in cell.outputs:
        if output.output_type == "stream":
            text += output.text
        elif output.output_type == "error":
            text += f"{output.ename}: {output.evalue.splitlines()[0]}\n"
        else:
            text += output.data["text/plain"].rstrip("\n") + "\n"
    lines = [written_over(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n").split("\n")]
    # One empty line is as good as two, and none is needed at the ends.
    kept = [line.rstrip() for number, line in enumerate(lines) if line.strip() or (number and lines[number - 1].strip())]
    return kept[:-1] if kept and not kept[-1] else kept


def written_over(line: str) -> str:
    """What a cell shows of a line: what comes after a carriage return stands in the place of what came before it."""
    seen = ""
    for part in line.split("\r"):
        seen = part + seen[len(part) :]
    return seen


@functools.cache
def blocks() -> list[tuple[str, str]]:
    """What is fenced in the guide, each with its language."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


def is_as_said(lines: list[str], said: list[str]) -> bool:
    """Whether lines are those that are said: … stands for the rest of a line; on a line of its own, for any lines."""
    if not said:
        return not lines
    if said[0].strip() == "…":
        return any(is_as_said(lines[skipped:], said[1:]) for skipped in range(len(lines) + 1))
    if not lines:
        return False
    pattern = ".*".join(map(re.escape, said[0].split("…")))
    return re.fullmatch(pattern, lines[0]) is not None and is_as_said(lines[1:], said[1:])


def test_the_notebook_is_kept_without_results() -> None:
    found = nbformat.read(NOTEBOOK, 4)
    nbformat.validate(found)
    assert [(cell.outputs, cell.execution_count) for cell in cells(found)] == [([], None)] * len(cells(found))
    assert cells(found)[0].source == "!pip install -q oomph"


def test_the_guide_has_the_cells_of_the_notebook() -> None:
    sources = [cell.source + "\n" for cell in cells(nbformat.read(NOTEBOOK, 4))]
    assert [body for language, body in blocks() if language == "python"] == sources


def test_the_commands_of_the_guides_table_are_run() -> None:
    rows = re.findall(r"^\| (`.*?) \|", GUIDE.read_text().partition("## All commands")[2], re.MULTILINE)
    commands = [" ".join(command.split()[:2]) for row in rows for command in re.findall("`(.*?)`", row)]
    lines = [line for cell in cells(nbformat.read(NOTEBOOK, 4)) for line in cell.source.splitlines()]
    assert len(commands) == 8
    assert [command for command in commands if not any(line.startswith(command) for line in lines)] == []


def test_only_the_cell_that_is_meant_to_die_does(notebook: Any) -> None:
    failed = [cell for cell in cells(notebook) if any(output.output_type == "error" for output in cell.outputs)]
    [cell] = failed
    assert [output.output_type for output in cell.outputs] == ["error", "display_data"]
    assert cell.outputs[0].ename == "OutOfMemoryError"


def test_every_cell_shows_what_the_guide_says(notebook: Any) -> None:
    expected: list[list[str]] = []
    for language, body in blocks():
        if language == "python":
            expected.append([])
        elif language == "text":
            expected[-1] = [line.rstrip() for line in body.splitlines()]
    for cell, said in zip(cells(notebook), expected, strict=True):
        lines = shown(cell)
        assert is_as_said(lines, said), "\n".join([cell.source, "--- shows", *lines, "--- the guide says", *said])


PROBE = """<script>
const boxes = [...document.querySelectorAll(".output")];
const lights = [...document.querySelectorAll(".oomph-card")].map((card) => getComputedStyle(card).backgroundColor);
document.documentElement.setAttribute("data-seen", JSON.stringify({
  boxes: boxes.length, wide: boxes.filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.textContent.slice(0, 80)),
  ground: [...new Set(lights)],
}));
</script>"""
STYLE = """
body { margin: 8px; font: 14px sans-serif; }
html[theme=dark] body { background: #111; color: #ddd; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; }
.column { width: WIDTHpx; } .source { background: #8882; padding: 4px; } .output { overflow: auto; margin: 8px 0; }
.jp-RenderedHTMLCommon :is(td, th, tr) { text-align: right; white-space: nowrap; }
"""


def page(notebook: Any, width: int, dark: bool) -> str:
    """The cells and what they show, as a notebook has them: HTML where there is some."""
    parts = []
    for cell in cells(notebook):
        parts.append(f'<pre class="source">{html.escape(cell.source)}</pre>')
        for output in cell.outputs:
            data = output.get("data", {})
            text = re.sub(r"\x1b\[[0-9;]*m", "", output.get("text", data.get("text/plain", output.get("evalue", ""))))
            inner = data.get("text/html", f"<pre>{html.escape(text)}</pre>")
            parts.append(f'<div class="output jp-RenderedHTMLCommon">{inner}</div>')
    style = STYLE.replace("WIDTH", str(width))
    # Colab says its theme there.
    head = f'<!doctype html><html theme="{"dark" if dark else "light"}"><meta charset="utf-8"><link rel="icon" href="data:,">'
    return f'{head}<style>{style}</style><body><div class="column">{"".join(parts)}</div>{PROBE}</body></html>'


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1240, 364])
def test_a_browser_shows_all_of_it(notebook: Any, tmp_path: pathlib.Path, width: int, dark: bool) -> None:
    path = tmp_path / "colab.html"
    path.write_text(page(notebook, width, dark))
    found = seen(path, 1280)
    assert found["wide"] == [] and found["boxes"] >= 12
    assert found["ground"] == ["rgb(28, 32, 36)" if dark else "rgb(255, 255, 255)"]
