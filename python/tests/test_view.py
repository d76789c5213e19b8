"""`oomph view` in a real browser: what is drawn is what the engine has, nothing leaves, nothing from the data runs."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import pathlib
import pickle
import subprocess
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
from browser import Browser, installed
from test_run_phantom import FILLS, TRAINS

MIB = 1 << 20
DRAWN = "document.documentElement?.dataset.drawn && document.documentElement.dataset.explained"
# What a replay came to.
TOLD = "oomphView.nodes.replayTold.textContent"
# Nothing is asked for any more, and the last picture is drawn.
QUIET = "oomphView.source.waiting.size === 0 && !oomphView.frame && [...oomphView.maps, ...oomphView.timelines].every((one) => one.tiles.asked.size === 0)"


@contextlib.contextmanager
def served(program: str, *files: pathlib.Path | str) -> Iterator[str]:
    """The address of a page that shows these files."""
    command = [program, "view", "--no-browser", "--quiet", *map(str, files)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        yield address
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = installed()
    if program is None:
        assert os.environ.get("CI") != "true" and os.environ.get("OOMPH_BROWSER") != "1", "there is no Chromium"
        pytest.skip("there is no Chromium")
    with Browser(program) as found:
        found.screen(1280, 1400)
        yield found


def shown(browser: Browser, address: str, fragment: str = "") -> None:
    """Opens the page and waits until all of it is there. What the last page still says is not this one's."""
    browser.open("about:blank")
    browser.wait("location.href === 'about:blank'")
    browser.forget()
    browser.open(f"{address}#{fragment}")
    browser.wait(DRAWN, 60)
    browser.wait(QUIET, 60)


def is_clean(browser: Browser, address: str) -> None:
    """Whether the page complained of nothing and asked nobody but its server."""
    assert browser.complaints == []
    outside = [url for url in browser.asked if not url.startswith((address, "about:", "data:", "blob:"))]
    assert outside == []
    assert browser.dialogs == 0


@pytest.fixture
def fragmentation(fixtures: pathlib.Path) -> pathlib.Path:
    return fixtures / "fragmentation-oom/snapshot.pickle.gz"


# A pixel is 2 MiB high, which divides every block of the job, and a column at least one event wide.
TO_SCALE = """(async () => {
  const map = oomphView.maps[%d], { meta, panel } = map;
  panel.height = meta.units * meta.unit / (2 << 20);
  panel.root.style.height = `${panel.height}px`;
  oomphView.redraw();
  await new Promise((done) => setTimeout(done, 300));
})()"""

# What each pixel of a column is, from the top down: free of anything, held, or in use.
COLUMN = """((slot) => {
  const map = oomphView.maps[0], { panel } = map, { gl, canvas } = panel.painter;
  const x = Math.floor(oomphView.view(panel).place(slot + 0.5));
  const column = new Uint8Array(canvas.height * 4);
  gl.readPixels(x, 0, 1, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, column);
  const is = (at, colour) => colour.every((part, place) => column[at * 4 + place] === part);
  const { card, held } = oomphView.colours;
  return Array.from({ length: canvas.height }, (_, at) => (is(at, card) ? "." : is(at, held) ? "o" : "#")).join("");
})(%d)"""


def test_pixels_of_the_map_are_what_the_engine_has(browser: Browser, oomph_bin: str, fragmentation: pathlib.Path) -> None:
    with served(oomph_bin, fragmentation) as address:
        # So few events are seen that each is wider than a pixel.
        for slot in (0, 100, 400, 799, 1000, 1300, 1600, 1621, 1623, 1900):
            shown(browser, address, f"from={max(slot - 40, 0)}&to={max(slot - 40, 0) + 100}&slot=5")
            browser.run(TO_SCALE % 0)
            browser.wait(QUIET)
            column = browser.run(COLUMN % slot)
            tile = browser.run(f"""(async () => {{
              const bytes = await oomphView.source.bytes(`0/0/t/line/0/${{Math.floor({slot} / 512)}}`);
              const tile = timelineTile(bytes), at = {slot} % 512;
              return [tile.activeMax[at], tile.reservedMax[at]];
            }})()""".replace("timelineTile(bytes)", "oomphView.readTile(bytes)"))
            engine = moment(oomph_bin, fragmentation, slot)
            assert [column.count("#") * 2 * MIB, (column.count("#") + column.count("o")) * 2 * MIB] == tile == engine, slot
            if slot == 1623:
                holes = [len(hole) for hole in column.replace("#", ".").split(".") if hole]
                assert (len(holes), set(holes)) == (200, {7}), "200 holes of 14 MiB, as the explanation says"
        is_clean(browser, address)


def moment(program: str, file: pathlib.Path, slot: int) -> list[int]:
    """In use and held right after an event, counted here from the events of the recording itself."""
    with gzip.open(file) as opened:
        snapshot = pickle.load(opened)
    live: dict[int, int] = {}
    held: dict[int, int] = {}
    # One small segment was cached before the first event.
    final = {segment["address"] for segment in snapshot["segments"]}
    trace = snapshot["device_traces"][0]
    given = {event["addr"] for event in trace if event["action"] == "segment_alloc"}
    freed = {event["addr"]: event["size"] for event in trace if event["action"] == "segment_free"}
    held.update({addr: size for addr, size in freed.items() if addr not in given})
    held.update({segment["address"]: segment["total_size"] for segment in snapshot["segments"] if segment["address"] in final - given})
    # A driver's call belongs to the request after it: it shows from there on.
    until = slot
    for number, event in enumerate(trace[: until + 1]):
        action = event["action"]
        if action == "alloc":
            live[event["addr"]] = -(-event["size"] // (2 * MIB)) * 2 * MIB
        elif action == "free_completed":
            del live[event["addr"]]
        elif action in ("segment_alloc", "segment_free") and any(
            later["action"] in ("alloc", "oom") for later in trace[number + 1 : until + 1]
        ):
            if action == "segment_alloc":
                held[event["addr"]] = event["size"]
            else:
                held.pop(event["addr"], None)
    return [sum(live.values()), sum(held.values())]


def test_a_replay_under_the_recorded_settings_is_the_same_picture(browser: Browser, oomph_bin: str, fragmentation: pathlib.Path) -> None:
    picture = "oomphView.{}[{}].panel.canvas.toDataURL()"
    with served(oomph_bin, fragmentation) as address:
        shown(browser, address)
        browser.run("oomphView.chooseReplay({ settings: '', limit: '', without: null })")
        browser.wait("oomphView.variant > 0 && oomphView.maps.length === 2")
        browser.wait(f"{QUIET} && oomphView.maps[1].drawn.length > 0")
        browser.run("new Promise((done) => setTimeout(done, 300))")
        for what in ("timelines", "maps"):
            recorded, replayed = (browser.run(picture.format(what, place)) for place in (0, 1))
            assert recorded == replayed and len(recorded) > 1000, what
        said = browser.run("document.querySelector('.card .told').textContent")
        assert said == "Identical to the recording: every block at the same address at the same time."
        # Another setting is another picture, and says how it went.
        browser.run("oomphView.chooseReplay({ settings: 'expandable_segments:True', limit: '', without: null })")
        browser.wait("oomphView.replayed && oomphView.replayed.title === 'expandable_segments:True'")
        browser.wait(f"{QUIET} && oomphView.maps[1].drawn.length > 0")
        said = browser.run("document.querySelector('.card .told').textContent")
        assert said == "Every request is served; held at most 5.63 GiB (recorded: 5.84 GiB); in use at most 3.52 GiB."
        assert browser.run(picture.format("maps", 0)) != browser.run(picture.format("maps", 1))
        browser.run("oomphView.chooseReplay({ settings: 'no_such_thing:1', limit: '', without: null })")
        browser.wait("document.querySelector('.card .told').textContent.includes('no_such_thing')")
        is_clean(browser, address)


def test_every_recording_is_shown_and_asks_nobody(browser: Browser, oomph_bin: str, fixtures: pathlib.Path) -> None:
    files = sorted(fixtures.glob("*/snapshot.pickle.gz"))
    assert len(files) == 21
    with served(oomph_bin, *files) as address:
        for number, file in enumerate(files):
            shown(browser, address, f"recording={number}")
            # What `oomph explain` says of it, as the command line's tests compare it.
            headline = (file.parent / "expected/explain.txt").read_text().splitlines()[0]
            assert browser.run("document.querySelector('h1').textContent").lower() == headline.lower(), file
            assert browser.run("oomphView.timelines[0].drawn.length > 0 && oomphView.maps[0].drawn.length > 0"), file
            is_clean(browser, address)


EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`${alert(3)}</script>\u202e"


def hostile(fragmentation: pathlib.Path, path: pathlib.Path) -> pathlib.Path:
    """The same recording, with names that try to leave their place in a page."""
    with gzip.open(fragmentation) as opened:
        snapshot: dict[str, Any] = pickle.load(opened)
    for event in snapshot["device_traces"][0]:
        event["user_metadata"] = EVIL
        for frame in event.get("frames", ()):
            frame["name"] = EVIL
            frame["filename"] = f"/home/user/{EVIL}.py"
    start = snapshot["device_traces"][0][0]["time_us"]
    snapshot["external_annotations"] = [
        {"name": EVIL, "stage": stage, "device": 0, "time_us": start + at} for stage, at in (("START", 1), ("END", 900))
    ]
    path.write_bytes(pickle.dumps(snapshot))
    return path


def test_nothing_from_a_hostile_recording_is_executed(browser: Browser, oomph_bin: str, fragmentation: pathlib.Path, tmp_path: pathlib.Path) -> None:
    evil = hostile(fragmentation, tmp_path / "<b>evil.pickle")
    with served(oomph_bin, evil) as address:
        for tab in ("moment", "flame", "modules", "block&find=alert", "block&block=3"):
            shown(browser, address, f"tab={tab}")
            browser.wait("document.querySelector('.under').childNodes.length > 0")
            assert browser.run("document.querySelectorAll('img, b b, main script').length") == 0, tab
            is_clean(browser, address)
        assert "onerror=alert(1)" in browser.run("document.body.innerText")
        # What turns the direction of text is not shown.
        assert "\u202e" not in browser.run("document.body.textContent")
        browser.run("oomphView.picture('svg')")
        assert browser.run("oomphView.lastPicture.text().then((text) => text.includes('<script'))") is False
        is_clean(browser, address)
    page = tmp_path / "evil.html"
    subprocess.run([oomph_bin, "view", str(evil), "--html", str(page)], check=True, capture_output=True)
    assert "onerror" not in page.read_text(), "what is in the data is not in the markup"
    shown(browser, page.as_uri())
    assert browser.run("document.querySelectorAll('img, main script').length") == 0
    is_clean(browser, page.as_uri())


def asked(address: str, path: str, **headers: str) -> int:
    """The status that a request gets."""
    place = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", place.port or 0, timeout=20)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def test_who_has_no_token_or_comes_from_elsewhere_gets_nothing(browser: Browser, oomph_bin: str, fragmentation: pathlib.Path) -> None:
    with served(oomph_bin, fragmentation) as address:
        place = urllib.parse.urlsplit(address)
        token = place.path.strip("/")
        assert len(token) == 32 and int(token, 16) >= 0
        assert place.hostname == "127.0.0.1"
        assert asked(address, f"/{token}/") == 200
        assert asked(address, f"/{token}/data/list") == 200
        assert asked(address, "/") == 404
        assert asked(address, "/data/list") == 404
        assert asked(address, f"/{token[:-1]}0/data/list" if token[-1] != "0" else f"/{token[:-1]}1/data/list") == 404
        assert asked(address, f"/{token}/data/list", Host="evil.example") == 403
        assert asked(address, f"/{token}/data/list", Origin="http://evil.example") == 403
        assert asked(address, f"/{token}/data/list", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors") == 403
        # A port that is forwarded has another number.
        assert asked(address, f"/{token}/data/list", Host="localhost:1234", Origin="http://localhost:1234") == 200
        # The token is on nobody's command line.
        assert all(token not in line for line in command_lines())
        # Another site's page cannot read it, nor frame it.
        other = "fetch('%sdata/list').then(() => 'read', () => 'refused')" % address
        browser.open("data:text/html,<p>another site")
        browser.wait("document.querySelector('p') !== null")
        assert browser.run(other) == "refused"


def command_lines() -> list[str]:
    """The command lines of all processes, which every user can read."""
    lines = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                lines.append((entry / "cmdline").read_bytes().decode(errors="replace"))
    return lines


def test_one_file_holds_the_same_page(browser: Browser, oomph_bin: str, fragmentation: pathlib.Path, tmp_path: pathlib.Path) -> None:
    page = tmp_path / "memory.html"
    done = subprocess.run([oomph_bin, "view", str(fragmentation), "--html", str(page)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    again = subprocess.run([oomph_bin, "view", str(fragmentation), "--html", str(page)], capture_output=True, text=True)
    assert (again.returncode, again.stderr) == (1, f"oomph: {page} exists: pass --force to overwrite it\n")
    tile = "(async () => Array.from(new Uint8Array(await oomphView.source.bytes('%s'))).join())()"
    keys = ["0/0/t/line/2/0", "0/0/m/phase/2/0/16/0", "0/0/at/1623", "0/0/meta"]
    replayed = ["0/1/t/line/2/0", "0/1/m/phase/2/0/16/0", "0/1/meta"]
    shown(browser, page.as_uri())
    kept = [browser.run(tile % key) for key in keys]
    # What helps and the line to blame can be replayed here too.
    chips = browser.run("[...document.querySelectorAll('.chips button')].map((each) => each.textContent)")
    assert chips == [
        "large_segment_size_mb:12",
        "expandable_segments:True,large_segment_size_mb:12",
        "without what train.py:142 case_frag_split holds then",
    ]
    told = {}
    for chip in chips:
        browser.run(f"[...document.querySelectorAll('.chips button')].find((each) => each.textContent === '{chip}').click()")
        browser.wait(f"oomphView.variant === {chips.index(chip) + 1}")
        browser.wait(QUIET)
        told[chip] = browser.run(TOLD)
    with_setting = [browser.run(tile % key) for key in replayed]
    assert browser.run("document.querySelector('.left-out').textContent").startswith("This file leaves out: search, stacks of single blocks")
    is_clean(browser, page.as_uri())
    with served(oomph_bin, fragmentation) as address:
        shown(browser, address)
        assert [browser.run(tile % key) for key in keys] == kept
        for chip in chips:
            browser.run(f"[...document.querySelectorAll('.chips button')].find((each) => each.textContent === '{chip}').click()")
            browser.wait(f"oomphView.variant === {chips.index(chip) + 1}")
            assert browser.run(TOLD) == told[chip]
        assert [browser.run(tile % key) for key in replayed] == with_setting


def test_a_link_restores_the_view_and_keys_change_it(browser: Browser, oomph_bin: str, fragmentation: pathlib.Path) -> None:
    with served(oomph_bin, fragmentation) as address:
        shown(browser, address, "from=500&to=1200&part=module&slot=799&tab=modules")
        assert browser.run("oomphView.slots()") == [500, 1200]
        assert browser.run("document.querySelector('.chosen').textContent") == "event 799: 3.52 GiB in use, 3.91 GiB held"
        assert browser.run("document.querySelector('.under .note').textContent").startswith("event 799: 3.52 GiB in use by module")
        press(browser, "2", "f", "+")
        browser.wait("location.hash.includes('part=line') && location.hash.includes('slot=1623')")
        assert browser.run("oomphView.slots()[1] - oomphView.slots()[0] < 700")
        press(browser, "0", "t")
        browser.wait("location.hash.includes('axis=time') && !location.hash.includes('from=')")
        link = browser.run("location.hash.slice(1)")
        shown(browser, address, link)
        assert browser.run("[oomphView.state.part, oomphView.state.slot, oomphView.state.axis]") == ["line", 1623, "time"]
        # A selection states what it holds, and can be copied.
        press(browser, "e")
        # What it holds does not depend on what is drawn at that moment.
        browser.run("oomphView.timelines[0].drawn = []")
        browser.run("oomphView.choose(oomphView.timelines[0].panel, 0, oomphView.timelines[0].panel.width)")
        browser.wait("document.querySelector('.chosen').textContent.startsWith('Events 0 to 2,045: ')")
        told = browser.run("document.querySelector('.chosen').textContent")
        whole = "Events 0 to 2,045: 0 B to 3.52 GiB in use, the most at event 799; at most 5.84 GiB held."
        assert told == f"{whole} event 1,623: 3.11 GiB in use, 5.84 GiB held"
        is_clean(browser, address)


def press(browser: Browser, *keys: str) -> None:
    for key in keys:
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        browser.call("Input.dispatchKeyEvent", type="keyUp", key=key)


def test_search_filter_compare_and_pictures(browser: Browser, oomph_bin: str, fixtures: pathlib.Path) -> None:
    first, second = (fixtures / name / "snapshot.pickle.gz" for name in ("streams", "fragmentation-oom"))
    with served(oomph_bin, second, first) as address:
        shown(browser, address, "tab=block&find=180+MiB")
        browser.wait("document.querySelector('.under .note') !== null")
        assert browser.run("document.querySelector('.under .note').textContent").startswith("11 allocations for “180 MiB”; together they had at most 1.93 GiB in use.")
        browser.run("document.querySelector('.under tbody tr').click()")
        browser.wait("document.querySelector('.under .stack li') !== null")
        assert "train.py:142 case_frag_split" in browser.run("document.querySelector('.under').innerText")
        shown(browser, address, "tab=compare")
        browser.wait("document.querySelectorAll('.under tbody tr').length > 1")
        assert browser.run("document.querySelector('.under .note').textContent") == "B needs 2.84 GiB less (80.7%): train.py:139 case_frag_split, 3.52 GiB, gone."
        shown(browser, address, "recording=1&stream=1")
        part = browser.run("oomphView.timelines[0].drawn[0].tile.activeMax.reduce((a, b) => Math.max(a, b), 0)")
        shown(browser, address, "recording=1")
        whole = browser.run("oomphView.timelines[0].drawn[0].tile.activeMax.reduce((a, b) => Math.max(a, b), 0)")
        assert 0 < part < whole
        browser.run("oomphView.picture('svg')")
        text = browser.run("oomphView.lastPicture.text()")
        assert text.startswith("<svg") and text.count("<rect") > 100 and "Addresses over time" in text
        browser.run("oomphView.picture('png')")
        assert browser.run("oomphView.lastPicture.size > 5000 && oomphView.lastPicture.type === 'image/png'")
        is_clean(browser, address)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (380, False), (380, True)])
def test_it_fits_every_screen(browser: Browser, oomph_bin: str, fixtures: pathlib.Path, tmp_path: pathlib.Path, width: int, dark: bool) -> None:
    browser.screen(width, 1400, dark)
    try:
        with served(oomph_bin, fixtures / "leak-oom/snapshot.pickle.gz", fixtures / "streams/snapshot.pickle.gz") as address:
            for tab in ("moment", "flame", "modules", "block&find=train", "compare"):
                shown(browser, address, f"tab={tab}")
                assert browser.run("document.documentElement.scrollWidth") == width, tab
                is_clean(browser, address)
            ground = browser.run("getComputedStyle(document.body).backgroundColor")
            assert ground == ("rgb(20, 23, 26)" if dark else "rgb(247, 247, 245)")
    finally:
        browser.screen(1280, 1400)


def test_a_plan_and_the_ranks_of_a_run_are_shown(
    browser: Browser, oomph_bin: str, warm_python: str, phantom: str, tmp_path: pathlib.Path
) -> None:
    environment = {**os.environ, "OOMPH_PHANTOM_LIBRARY": phantom}
    plan, run = tmp_path / "plan", tmp_path / "run"
    for folder, words, code in ((plan, ["plan", "--gpu", "T4"], TRAINS), (run, ["run", "--phantom", "--gpu", "T4"], FILLS)):
        folder.mkdir()
        (folder / "job.py").write_text(code)
        command = [oomph_bin, *words, "--python", warm_python, "job.py"]
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=120)
    with served(oomph_bin, plan / ".oomph") as address:
        shown(browser, address)
        assert browser.run("oomphView.meta.events > 10 && oomphView.meta.has_classes")
        is_clean(browser, address)
    last = (run / ".oomph/last").resolve()
    left = next(last.glob("main*.pickle"))
    for rank in range(2):
        (last / f"rank{rank}.pickle").write_bytes(left.read_bytes())
    for file in last.glob("main*"):
        file.unlink()
    with served(oomph_bin, last) as address:
        shown(browser, address, "recording=1&tab=compare")
        names = browser.run("[...document.querySelectorAll('select[aria-label=Recording] option')].map((one) => one.textContent)")
        assert names == ["rank0.pickle, GPU 0", "rank1.pickle, GPU 0"]
        browser.wait("document.querySelector('.under .note') !== null")
        assert browser.run("document.querySelector('.under .note').textContent").startswith("no difference: both need ")
        is_clean(browser, address)


def slowly(program: str, first: bytes, rest: bytes) -> tuple[str, subprocess.Popen[bytes]]:
    """The address of a page whose recording comes in two parts, the second after the address."""
    process = subprocess.Popen([program, "view", "-", "--no-browser", "--quiet"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(first)
    process.stdin.flush()
    address = process.stdout.readline().decode().strip()
    assert asked(address, urllib.parse.urlsplit(address).path) == 200
    process.stdin.write(rest)
    process.stdin.close()
    # Nothing more is to be written to it.
    process.stdin = None
    return address, process


def test_what_takes_long_to_read_is_read_while_the_browser_starts(oomph_bin: str, fragmentation: pathlib.Path) -> None:
    whole = fragmentation.read_bytes()
    half = len(whole) // 2
    address, process = slowly(oomph_bin, whole[:half], whole[half:])
    try:
        assert asked(address, urllib.parse.urlsplit(address).path + "data/list") == 200
    finally:
        process.kill()
        process.communicate()
    _, process = slowly(oomph_bin, whole[:half], b"")
    said = process.communicate(timeout=30)[1].decode()
    assert process.returncode == 1
    assert said.startswith("oomph: ") and said.count("\n") == 1, said


def test_bad_input_is_one_line(oomph_bin: str, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("all is well\n")
    missing = tmp_path / "none.pickle"

    def says(*words: str) -> tuple[int, str, str]:
        done = subprocess.run([oomph_bin, "view", *words], capture_output=True, text=True, cwd=tmp_path, timeout=30)
        return done.returncode, done.stdout, done.stderr

    assert says(str(log)) == (1, "", f"oomph: {log} holds no memory of a GPU to draw: `oomph explain {log}` says what is in it\n")
    assert says(str(missing)) == (1, "", f"oomph: cannot open {missing}: No such file or directory (os error 2)\n")
    assert says(str(tmp_path)) == (1, "", f"oomph: {tmp_path} holds no snapshot (.pickle, .pickle.gz, .pickle.zst) and is no run's folder\n")
    assert says() == (2, "", "oomph: name a snapshot or a run's folder: there is no run in .oomph here\n")
    assert says(str(log), "--json") == (2, "", "oomph: --json is not for view: --html FILE writes the page to a file\n")
    assert says("-", str(log)) == (2, "", "oomph: standard input (file 1) can only be named alone\n")
    assert json.dumps(says(str(log), "--html", "x.html"))  # the file is read before anything is written
    assert not (tmp_path / "x.html").exists()
