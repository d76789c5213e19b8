"""`%load_ext oomph` in a real kernel, and what it shows in a real browser."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from programs import LEAK, Programs

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("torch")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MESSAGE = (
    "CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total capacity of 15.00 GiB of which 3.13 GiB is free. "
    "Including non-PyTorch memory, this process has 11.87 GiB memory in use. Of the allocated memory 11.17 GiB is "
    "allocated by PyTorch, and 170.00 MiB is reserved by PyTorch but unallocated."
)
FAIL = f"""\
import torch, weakref
text = {MESSAGE!r}
class Big: pass
def step():
    held = Big()
    global watched
    watched = weakref.ref(held)
    raise torch.OutOfMemoryError(text)
step()"""


LOOP = """\
for batch in range(1000):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 1 << 20, device="cuda")).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    losses.append(loss)"""


Run = Callable[..., list[list[Any]]]


def run_in(kernel: str, *cells: str, **environment: str) -> list[list[Any]]:
    """Runs the cells in a kernel of their own, and gives the outputs of each."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name=kernel, allow_errors=True)
    client.execute(env={**os.environ, **environment})
    return [cell.outputs for cell in notebook.cells]


@pytest.fixture
def kernel(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The name of a kernel in this interpreter."""

    def named(python: str) -> str:
        folder = tmp_path / "jupyter" / "kernels" / "tested"
        folder.mkdir(parents=True)
        argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        (folder / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "tested", "language": "python"}))
        monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
        return "tested"

    return named


@pytest.fixture
def run(kernel: Callable[[str], str], warm_python_alone: str) -> Run:
    """Runs cells where there is no GPU."""
    return functools.partial(run_in, kernel(warm_python_alone))


@pytest.fixture
def run_on_card(kernel: Callable[[str], str], warm_python: str, phantom: str) -> Run:
    """Runs cells on a GPU of 1 GiB that is not there."""
    card = f"name=Tesla T4;total={1 << 30};capability=7.5;processors=40"
    environment = {"LD_PRELOAD": phantom, "OOMPH_PHANTOM": card, "PYTHONWARNINGS": "ignore"}
    return functools.partial(run_in, kernel(warm_python), **environment)


def verdict(output: Any) -> list[str]:
    """The lines of a card."""
    lines: list[str] = output.data["text/plain"].splitlines()
    assert len(lines) <= 14 and max(map(len, lines)) <= 80, output.data["text/plain"]
    return lines


def printed(outputs: list[Any]) -> str:
    return "".join(output.text for output in outputs if output.output_type == "stream")


@pytest.fixture(scope="module")
def outputs() -> list[Any]:
    """What stands under a cell that ran out of memory."""
    return run_in("python3", "%load_ext oomph", FAIL)[1]


def test_the_card_stands_under_the_traceback(outputs: list[Any]) -> None:
    assert [output.output_type for output in outputs] == ["error", "display_data"]
    error, card = outputs
    assert error.ename == "OutOfMemoryError"
    assert "step()" in "".join(error.traceback)
    assert set(card.data) == {"text/plain", "text/html"}
    lines = card.data["text/plain"].splitlines()
    assert lines[0] == "out of memory on device 0 (pytorch): 9.27 GiB more was asked for"
    assert lines[1] == "  Where    In[2]:8 step"
    assert card.data["text/html"].startswith('<div class="oomph-card"')


def test_the_handler_keeps_nothing_alive_and_free_lets_go_of_all(run: Run) -> None:
    kept = "watched() is not None, _3, len(Out)"
    outputs = run("%load_ext oomph", FAIL, "Big()", kept, "import oomph; oomph.free()", "watched() is None, dict(Out)")
    assert re.search(r"^\(True, <__main__.Big at 0x\w+>, 1\)$", outputs[3][0].data["text/plain"])
    freed = outputs[4][0].data["text/plain"].splitlines()
    assert freed[0] == "no GPU memory to free: there is no GPU that torch can use"
    assert re.search(r"the last exception: \d+ frames cleared", freed[1])
    assert freed[2].strip() == "IPython's results: 2 dropped"
    # The result of the fifth cell came after it had been dropped.
    assert outputs[5][0].data["text/plain"].startswith("(True,\n {5: no GPU memory to free")


def test_without_free_the_next_failure_lets_go_of_the_last(run: Run) -> None:
    outputs = run("%load_ext oomph", FAIL, "first = watched", "1/0", "import gc; gc.collect(); first() is None")
    assert outputs[4][0].data["text/plain"] == "True"


def test_other_errors_have_no_card_and_other_frameworks_have(run: Run) -> None:
    jax = """
class XlaRuntimeError(RuntimeError): pass
raise XlaRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 21474836480 bytes.")"""
    tensorflow = """
class ResourceExhaustedError(Exception): pass
raise ResourceExhaustedError("OOM when allocating tensor with shape[1024,1024] and type float on "
                             "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc")"""
    outputs = run("%load_ext oomph", "1/0", jax, tensorflow, "%unload_ext oomph", jax)
    kinds = [[output.output_type for output in found] for found in outputs]
    assert kinds == [[], ["error"], ["error", "display_data"], ["error", "display_data"], [], ["error"]]
    assert outputs[2][1].data["text/plain"].startswith("out of memory (jax): 20.00 GiB more was asked for")
    assert outputs[3][1].data["text/plain"].startswith("out of memory on device 0 (tensorflow)")


def test_the_magic_says_what_it_is_asked(run: Run) -> None:
    asked = ["%oomph", "%oomph help", FAIL, "%oomph", "%oomph explain", "%oomph fre", "%oomph free"]
    outputs = run("import torch\n%load_ext oomph", *asked)[1:]
    assert printed(outputs[0]) == "torch has not used a GPU: no GPU memory is in use by it\n"
    lines = printed(outputs[1]).splitlines()
    assert lines[0] == "%oomph           the last verdict in a line, or the GPU memory in use now"
    assert len(lines) == 5 and max(map(len, lines)) <= 80
    assert printed(outputs[3]) == "out of memory on device 0 (pytorch): 9.27 GiB more was asked for\n"
    assert outputs[4][0].data["text/html"].startswith('<div class="oomph-card"')
    said = "UsageError: %oomph knows no `fre`; did you mean `%oomph free`? (see `%oomph help`)\n"
    assert printed(outputs[5]) == said
    assert outputs[6][0].data["text/plain"].startswith("no GPU memory to free")


def test_a_recorded_cell_runs_as_it_would_alone(run: Run) -> None:
    cell = "%%oomph\nx = 2\n%precision 3\nx + 1"
    outputs = run("%load_ext oomph\nimport torch", cell, "x", "%%oomph\n1/0", "%%oomph now\n1", "%%oomph\nx;")
    assert [output.output_type for output in outputs[1]] == ["execute_result", "stream"]
    assert printed(outputs[1]) == "oomph: there is no GPU that torch can use; the cell ran without one\n"
    assert outputs[1][0].data["text/plain"] == "3"
    assert outputs[2][0].data["text/plain"] == "2"
    assert [output.output_type for output in outputs[3]] == ["error"]
    assert "----> 2 1/0" in re.sub(r"\x1b\[[0-9;]*m", "", "".join(outputs[3][0].traceback))
    assert "%%oomph takes no words behind it, not `now`" in printed(outputs[4])
    assert "execute_result" not in [output.output_type for output in outputs[5]]


def test_a_recorded_cell_may_wait_run_cells_and_have_other_magics(run_on_card: Run) -> None:
    make = "size = len(torch.empty(64 << 20, dtype=torch.uint8, device='cuda'))"
    waits = f"%%oomph\nasync def made():\n    await asyncio.sleep(0)\n    {make}\n    return 5\nawait made()"
    text = '%%oomph\n' + make + '\ntext = """one\ntwo"""'
    nested = f"%%oomph\nget_ipython().run_cell('1 + 1')\n{make}"
    second, first = f"%%oomph\n%%time\n{make}", f"%%time\n%%oomph\n{make}"
    called = f"get_ipython().run_cell_magic('oomph', '', {make!r})"
    fails = "%%oomph\nawait asyncio.sleep(0)\ntorch.empty(4 << 30, dtype=torch.uint8, device='cuda')"
    cells = [waits, text, "text", nested, second, first, called, fails, "%%oomph\nx ="]
    outputs = run_on_card("%load_ext oomph\nimport torch, asyncio\nget_ipython().run_cell('')", *cells)[1:]
    cards = [
        [output.data["text/plain"].splitlines() for output in found if output.output_type == "display_data"]
        for found in outputs
    ]
    peak = "GPU 0: peak in use 64.00 MiB, held 64.00 MiB, 0 retries"
    assert cards[0] == [[peak, "   64.00 MiB  In[2]:4 made"]]
    assert outputs[0][0].data["text/plain"] == "5"
    assert cards[1][0][1] == "   64.00 MiB  In[3]:2 <module>"
    assert outputs[2][0].data["text/plain"] == "'one\\ntwo'"
    for number in (3, 4, 5, 6):
        assert len(cards[number]) == 1 and cards[number][0][1].startswith("   64.00 MiB  In["), outputs[number]
    assert all("Wall time" in printed(outputs[number]) for number in (4, 5))
    assert "  Where    In[9]:3 <module>" in cards[7][0]
    assert [output.output_type for output in outputs[8]] == ["error"] and "SyntaxError" == outputs[8][0].ename


def test_a_loop_that_keeps_its_losses_is_a_leak(run_on_card: Run) -> None:
    caught = """\
import oomph
try:
    step()
except torch.OutOfMemoryError as error:
    print(oomph.explain(error).data["ooms"][0]["verdict"]["cause"])"""
    outputs = run_on_card("%load_ext oomph", LEAK, LOOP, caught)
    assert printed(outputs[3]) == "leak\n"
    assert [output.output_type for output in outputs[2]] == ["error", "display_data"]
    lines = verdict(outputs[2][1])
    assert lines[0].startswith("out of memory on GPU 0, step ") and lines[1].startswith("  Where    In[")
    said = " ".join(lines)
    assert "Cause    leak: " in said and "kept by `losses`" in said
    assert "  Line     In[2]:9 forward: " in said and "9 | return torch.tanh(x * self.weight + self.mean)" in said
    assert lines[-1] == "  More     %oomph explain"
    page = outputs[2][1].data["text/html"]
    assert "In[2]:9 forward" in page and "return torch.tanh(x * self.weight + self.mean)" in page
    assert "ipykernel" not in page


def test_a_leak_over_cells_is_one_and_each_failure_is_judged_by_itself(
    run_on_card: Callable[..., list[list[Any]]],
) -> None:
    large = "torch.empty(2 << 30, dtype=torch.uint8, device='cuda')"
    outputs = run_on_card("%load_ext oomph", LEAK, large, *["step()"] * 25)
    assert "  Where    In[3]:1 <module>" in verdict(outputs[2][1])
    assert "capacity" in outputs[2][1].data["text/plain"]
    failed = [output for output in outputs[3:] if output]
    assert len(failed) > 3
    for number in (0, 1, -1):
        said = " ".join(verdict(failed[number][1]))
        assert "16.00 MiB more was asked for" in said
        assert "Cause    leak: " in said and "kept by `losses`" in said and "In[2]:9 forward: " in said


WATCHED = """
import weakref
class Big: pass
def fail():
    held = Big()
    tensor = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    global watched, watched_tensor
    watched, watched_tensor = weakref.ref(held), weakref.ref(tensor)
    torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
fail()"""


def test_a_recorded_failure_keeps_nothing_alive(run_on_card: Run) -> None:
    alive = "import gc; gc.collect(); watched() is None, watched_tensor() is None, torch.cuda.memory_allocated()"
    outputs = run_on_card("%load_ext oomph", "import torch", WATCHED, "1/0", alive)
    lines = verdict(outputs[2][1])
    assert "  Where    In[3]:8 fail" in lines
    assert outputs[4][0].data["text/plain"] == "(True, True, 0)"


RECORDS = "torch._C._cuda_isHistoryEnabled()"


def test_it_records_from_loading_to_unloading(run_on_card: Run) -> None:
    start = "import torch; torch.ones(1, device='cuda');"
    load, unload = "%load_ext oomph", "%unload_ext oomph"
    for before, after in ([load, start], [start, load], ["import torch", load + "\ntorch.ones(1, device='cuda');"]):
        outputs = run_on_card(before, after, RECORDS, unload, RECORDS, load, RECORDS)
        assert [outputs[n][0].data["text/plain"] for n in (2, 4, 6)] == ["True", "False", "True"]
    outputs = run_on_card(load, unload, start, RECORDS)
    assert outputs[3][0].data["text/plain"] == "False"


def test_who_records_for_himself_keeps_his_options_and_gives_back(run_on_card: Run) -> None:
    own = "torch.cuda.memory._record_memory_history(context=None, max_entries=1000)\nstep()"
    count = "sum(len(trace) for trace in torch.cuda.memory._snapshot()['device_traces']) > 0"
    end = "torch.cuda.memory._record_memory_history(None)"
    frames = "bool(torch.cuda.memory._snapshot()['device_traces'][0][-1].get('frames'))"
    outputs = run_on_card("%load_ext oomph", LEAK, own, count, frames, end, RECORDS, LOOP)
    assert [outputs[n][0].data["text/plain"] for n in (3, 4, 6)] == ["True", "False", "True"]
    assert "Cause    leak: " in " ".join(verdict(outputs[7][1]))


def test_a_recorded_cell_shows_its_lines_in_every_step(run_on_card: Run) -> None:
    steps = "for batch in range(5):\n    step()\n    losses.clear()"
    outputs = run_on_card("%load_ext oomph", LEAK, steps, "%%oomph\n" + steps, "%%oomph\n" + LOOP)
    lines = outputs[3][0].data["text/plain"].splitlines()
    assert lines[0].startswith("GPU 0: peak in use ")
    assert "   32.00 MiB  In[2]:9 forward ×2" in lines
    assert "Cause    leak: " in " ".join(verdict(outputs[4][1]))


def test_tracebacks_show_no_lines_of_oomph(run_on_card: Run) -> None:
    fails = """\
class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
Fails.apply(torch.ones(1, device="cuda", requires_grad=True)).backward()"""
    outputs = run_on_card("%load_ext oomph\nimport torch", fails, "%%oomph\n" + fails)
    for number in (1, 2):
        shown = re.sub(r"\x1b\[[0-9;]*m", "", "".join(outputs[number][0].traceback))
        assert "Fails.apply(torch.ones" in shown and "in Fails.backward(ctx, gradient)" in shown
        assert not re.search(r"File \S*/oomph/", shown), shown
        assert f"  Where    In[{number + 1}]:{number + 6} backward" in verdict(outputs[number][1])


UNDER_RUN = """
import nbclient, nbformat, sys
cells = [nbformat.v4.new_code_cell(cell) for cell in {cells!r}]
notebook = nbformat.v4.new_notebook(cells=cells)
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
print(notebook.cells[-1].outputs[-1].data["text/plain"])
"""


def test_under_run_both_have_it(programs: Programs) -> None:
    cells = ["%load_ext oomph", LEAK, LOOP, "%unload_ext oomph", "print(" + RECORDS + ")", "%load_ext oomph", LOOP]
    card = f"name=Tesla T4;total={1 << 30};capability=7.5;processors=40"
    ended = programs.run(UNDER_RUN.format(cells=cells), card=card)
    assert "Cause    leak: " in ended.stdout and "In[2]:9 forward: " in ended.stdout, ended
    [name] = [name for name in ended.names() if name.startswith("pid")]
    recording = ended.recording(name.removesuffix(".pickle"))
    files = {frame["filename"] for event in recording["device_traces"][0] for frame in event.get("frames", ())}
    assert "In[2]" in files and not any(re.search(r"/ipykernel_\d", file) for file in files)
    said = programs.json("explain", ended.run() / name)
    assert said["ooms"][0]["verdict"]["cause"] == "leak"


@pytest.mark.gpu
def test_a_recorded_cell_shows_its_peak_and_lines_on_a_real_card() -> None:
    cell = "%%oomph\nx = torch.empty(256 << 20, dtype=torch.uint8, device='cuda')\ndel x"
    fail = "%%oomph\nx = torch.empty(1 << 30, dtype=torch.uint8, device='cuda')\ny = torch.empty(1 << 50, device='cuda')"
    outputs = run_in("python3", "%load_ext oomph\nimport torch", cell, fail)
    lines = outputs[1][0].data["text/plain"].splitlines()
    assert lines[0] == "GPU 0: peak in use 256.00 MiB, held 256.00 MiB, 0 retries"
    assert lines[1] == "  256.00 MiB  In[2]:2 <module>"
    assert [output.output_type for output in outputs[2]] == ["error", "display_data"]
    assert "In[3]:3 <module>" in outputs[2][1].data["text/plain"]


def browser() -> str:
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        if os.environ.get("CI") == "true" or os.environ.get("OOMPH_BROWSER") == "1":
            pytest.fail(f"none of {BROWSERS} is on PATH")
        pytest.skip(f"none of {BROWSERS} is on PATH")
    return found


PROBE = """<script>
const card = document.querySelector(".oomph-card"), box = card.getBoundingClientRect();
document.documentElement.setAttribute("data-seen", JSON.stringify({
  ground: getComputedStyle(card).backgroundColor, ink: getComputedStyle(card.querySelector(".headline")).color,
  tall: box.height > 200, fits: document.documentElement.scrollWidth <= innerWidth, window: innerWidth,
  parts: document.querySelectorAll(".bar span").length, frames: document.querySelectorAll("iframe, img, script[src], link[href^=http]").length,
}));
</script>"""
# Jupyter's own rules for what a cell shows.
NOTEBOOK = ".jp-RenderedHTMLCommon :is(td, th, tr) { text-align: right; white-space: nowrap; }"


def seen(page: pathlib.Path, width: int, *options: str) -> Any:
    """What a browser makes of a file: it asks for nothing and complains of nothing."""
    log = page.with_suffix(".net.json")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"]
    flags += ["--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr"]
    flags += [f"--window-size={width},1400", f"--user-data-dir={page.with_suffix('.profile')}", f"--log-net-log={log}"]
    flags += [f"--screenshot={page.with_suffix(f'.{width}.png')}"] if os.environ.get("OOMPH_SCREENSHOTS") else []
    command = [browser(), *flags, *options, "--virtual-time-budget=1000", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    of_page = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    asked = [params["url"] for params in of_page if "url" in params and params.get("initiator", "not an origin") != "not an origin"]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    found = re.search(r'data-seen="([^"]*)"', done.stdout)
    assert found is not None, "the probe did not run"
    return json.loads(found.group(1).replace("&quot;", '"'))


@pytest.mark.parametrize("width", [1280, 520])
@pytest.mark.parametrize(
    ("theme", "dark", "ground"),
    [
        ("", False, "rgb(255, 255, 255)"),
        ("", True, "rgb(28, 32, 36)"),
        (' data-jp-theme-light="true"', True, "rgb(255, 255, 255)"),
        (' data-jp-theme-light="false"', False, "rgb(28, 32, 36)"),
    ],
    ids=["system-light", "system-dark", "notebook-light", "notebook-dark"],
)
def test_a_browser_shows_the_card(
    outputs: list[Any], tmp_path: pathlib.Path, width: int, theme: str, dark: bool, ground: str
) -> None:
    page = tmp_path / "card.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><style>{NOTEBOOK}</style><body{theme}>'
        f'<div class="jp-RenderedHTMLCommon">{outputs[1].data["text/html"]}</div>{PROBE}</body>'
    )
    # 0 is dark, 1 is light: what the browser takes the system to prefer.
    found = seen(page, width, f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    assert found.pop("ink") != ground
    expected = {"ground": ground, "tall": True, "fits": True, "window": width, "parts": 4, "frames": 0}
    assert found == expected
