"""`oomph view` beside PyTorch's own page, on generated recordings of 50,000, 500,000 and 5,000,000 events.

    cargo build --release -p oomph --no-default-features
    cargo build --release -p oomph-testkit --example generate
    python3 benches/view.py --target target [--torch-page FOLDER] > table.md

FOLDER holds PyTorch's page: MemoryViz.js and process_alloc_data.js of torch/utils/viz, and d3.min.js of `npm pack d3@7`
(dist/d3.min.js). Without it only oomph is measured. Recordings are made in a temporary folder and removed.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "python/tests"))

from browser import Browser, installed  # noqa: E402

DEPTH = 60
FRAMES = 240
FRAMES_TORCH = 60
LIMIT_S = 180.0

# From one picture to the next, while the view moves a little in each: first what moves it, then how.
FRAMES_OF = """(async () => {
  %s
  const times = [];
  let last = null;
  for (let at = 0; at < %d; at += 1) {
    const now = await new Promise((done) => requestAnimationFrame(done));
    if (last !== null) times.push(now - last);
    last = now;
    const turn = at %% 60;
    %s
  }
  return times;
})()"""
MOVING = FRAMES_OF % (
    "const app = oomphView, panel = app.timelines[0].panel;",
    FRAMES,
    """if (turn < 25) app.zoom(panel, panel.width * 0.6, 50, 0.85, false);
    else if (turn < 40) app.move(panel, -18, 0);
    else app.zoom(panel, panel.width * 0.4, 50, 1 / 0.8, false);""",
)
# The same by the wheel and the mouse, which is all that page understands.
MOVING_TORCH = FRAMES_OF % (
    """const drawn = (svg) => svg.querySelectorAll("path, polygon, rect").length;
  const svg = [...document.querySelectorAll("svg")].sort((a, b) => drawn(b) - drawn(a))[0];
  const box = svg.getBoundingClientRect();""",
    FRAMES_TORCH,
    """const where = { bubbles: true, cancelable: true, view: window, clientX: box.left + box.width * 0.5, clientY: box.top + box.height * 0.5 };
    svg.dispatchEvent(new WheelEvent("wheel", { ...where, deltaY: turn < 30 ? -60 : 60 }));""",
)


def percentile(values: list[float], share: float) -> float:
    """The value that this share of all does not exceed."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


@contextlib.contextmanager
def served(program: pathlib.Path, file: pathlib.Path) -> Iterator[tuple[str, float]]:
    """The page's address, and when its program was started."""
    begun = time.time()
    command = [str(program), "view", "--no-browser", "--quiet", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), begun
    finally:
        process.kill()
        process.wait()


def row_of_oomph(browser: Browser, program: pathlib.Path, file: pathlib.Path) -> list[str]:
    """Seconds from the start of the program to the first picture and to the verdict, frames, memory, and the file's size."""
    with served(program, file) as (address, begun):
        browser.open(address)
        drawn = float(browser.wait("document.documentElement?.dataset.drawn", LIMIT_S)) / 1000 - begun
        browser.wait("document.documentElement.dataset.explained", LIMIT_S)
        explained = time.time() - begun
        time.sleep(1)
        times = browser.run(MOVING)
        memory = browser.memory()
    page = file.with_suffix(".html")
    subprocess.run([str(program), "view", str(file), "--html", str(page)], check=True)
    size = page.stat().st_size
    page.unlink()
    return [
        f"{drawn:.1f}", f"{explained:.1f}", f"{statistics.median(times):.0f}", f"{percentile(times, 0.95):.0f}",
        f"{memory / 1e6:,.0f}", f"{size / 1e6:.1f}",
    ]  # fmt: skip


TORCH = """<!doctype html><meta charset=utf-8><link rel=icon href="data:,"><body><script src="./d3.min.js"></script><script type="module">
import {add_remote_files} from "./MemoryViz.js";
add_remote_files([{name: "snapshot", url: "./snapshot.pickle"}]);
</script>"""


@contextlib.contextmanager
def torch_page(folder: pathlib.Path, file: pathlib.Path) -> Iterator[str]:
    """PyTorch's page with its imports led to the files in `folder`."""
    with tempfile.TemporaryDirectory() as made:
        root = pathlib.Path(made)
        script = (folder / "MemoryViz.js").read_text()
        (root / "MemoryViz.js").write_text(re.sub(r'"https://[^"]*d3[^"]*"', '"./d3.mjs"', script))
        helper = folder / "process_alloc_data.js"
        if helper.exists():
            (root / helper.name).write_bytes(helper.read_bytes())
        # The bundle sets a global, as a plain script; a module that names its parts is what the page imports.
        bundle = (folder / "d3.min.js").read_text()
        names = sorted(set(re.findall(r"\bt\.([A-Za-z]\w*)=", bundle)))
        (root / "d3.min.js").write_text(bundle)
        (root / "d3.mjs").write_text(f"export const {{{','.join(names)}}} = globalThis.d3;\n")
        (root / "index.html").write_text(TORCH)
        (root / "snapshot.pickle").symlink_to(file)

        class Quiet(http.server.SimpleHTTPRequestHandler):
            extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

            def log_message(self, *_: Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=made))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


def row_of_torch(browser: Browser, folder: pathlib.Path, file: pathlib.Path) -> list[str]:
    """The same of PyTorch's page, or what became of it."""
    with torch_page(folder, file) as address:
        begun = time.time()
        browser.patience = LIMIT_S
        try:
            browser.open(address)
            browser.wait("document.querySelectorAll('svg path, svg polygon, svg rect').length > 5", LIMIT_S)
            drawn = time.time() - begun
            times = browser.run(MOVING_TORCH)
        except AssertionError as error:
            thrown = [said for said in browser.complaints if "exceptionId" in said]
            assert not thrown, f"PyTorch's page was not set up rightly: {thrown[0]}"
            reason = "the browser went away" if "went away" in str(error) else f"nothing drawn in {LIMIT_S:.0f} s"
            return [reason, "none", "", "", f"{browser.memory() / 1e6:,.0f}", ""]
        return [f"{drawn:.1f}", "none", f"{statistics.median(times):.0f}", f"{percentile(times, 0.95):.0f}", f"{browser.memory() / 1e6:,.0f}", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=ROOT / "target", help="cargo's target folder")
    parser.add_argument("--torch-page", type=pathlib.Path, help="PyTorch's page and d3")
    parser.add_argument("--events", type=int, nargs="*", default=[50_000, 500_000, 5_000_000])
    args = parser.parse_args()
    chromium = installed()
    assert chromium, "there is no Chromium"
    release = args.target / "release"
    print("| events | MB | page | first picture, s | verdict, s | frame ms, median | 95% | browser MB | one file, MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as made:
        for events in args.events:
            file = pathlib.Path(made) / f"{events}.pickle"
            command = [release / "examples/generate", file, "--events", str(events), "--depth", str(DEPTH), "--oom"]
            subprocess.run([str(word) for word in command], check=True)
            os.sync()  # else the system writes it to the disk while it is read
            named = f"| {events:,} | {file.stat().st_size / 1e6:,.0f} "
            rows = [("`oomph view`", functools.partial(row_of_oomph, program=release / "oomph"))]
            if args.torch_page:
                rows.append(("PyTorch's", functools.partial(row_of_torch, folder=args.torch_page)))
            for name, measure in rows:
                with Browser(chromium, patience=LIMIT_S) as browser:
                    browser.screen(1280, 1400)
                    print(f"{named}| {name} | {' | '.join(measure(browser, file=file))} |", flush=True)
            file.unlink()


if __name__ == "__main__":
    main()
