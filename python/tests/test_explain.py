"""`oomph.explain`, beside the command of the same wheel."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from collections.abc import Callable

import pytest

import oomph
from oomph._recorder.process import Process

SNAPSHOT = "fragmentation-oom/snapshot.pickle.gz"
MESSAGE = "RuntimeError: CUDA error: out of memory"
LONG_MESSAGE = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity)"
NOTHING = (
    "nothing to explain: no error of this process was about memory, and no run was recorded in this folder; "
    "name a snapshot, a log, a message or an exception"
)


def said_by(program: str, *words: str | pathlib.Path, stdin: str | None = None) -> str:
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True, input=stdin)
    return done.stdout


def check_error(expected: str, what: object = None, **options: object) -> None:
    with pytest.raises(oomph.OomphError) as raised:
        oomph.explain(what, **options)  # type: ignore[arg-type]
    assert str(raised.value) == expected


@pytest.mark.parametrize("name", ["fragmentation-oom", "gpt2-static", "leak-oom", "streams"])
def test_a_snapshot_is_explained_as_by_the_command(oomph_bin: str, fixtures: pathlib.Path, name: str) -> None:
    path = fixtures / name / "snapshot.pickle.gz"
    explanation = oomph.explain(path)
    assert explanation.text == str(explanation) == said_by(oomph_bin, "explain", path)
    assert explanation.data == json.loads(said_by(oomph_bin, "explain", "--json", path))
    assert oomph.explain(str(path)).text == explanation.text


def test_a_process_that_used_no_gpu_is_explained_as_by_the_command(
    oomph_bin: str, tmp_path: pathlib.Path, run_python: Callable[..., str]
) -> None:
    (tmp_path / "run.json").write_text("{}")
    run_python("pass", OOMPH_RUN=str(tmp_path), OOMPH_PARENT=str(os.getpid()))
    recording = tmp_path / "main.pickle"
    explanation = oomph.explain(tmp_path)
    assert explanation.text == said_by(oomph_bin, "explain", recording)
    assert explanation.data == json.loads(said_by(oomph_bin, "explain", "--json", recording))


def test_a_limit_is_taken_as_by_the_command(oomph_bin: str, fixtures: pathlib.Path) -> None:
    path = fixtures / SNAPSHOT
    expected = said_by(oomph_bin, "explain", "--limit", "6.01 GiB", path)
    assert expected != said_by(oomph_bin, "explain", path)
    assert oomph.explain(path, limit="6.01 GiB").text == expected
    assert oomph.explain(path, limit=oomph.parse_size("6.01 GiB")).text == expected
    check_error("`much` is not a size: write a number and a unit, such as 12GiB, 512MiB or 1073741824", path, limit="much")


def test_a_message_is_explained_as_by_the_command(oomph_bin: str) -> None:
    explanation = oomph.explain(MESSAGE)
    assert explanation.text == said_by(oomph_bin, "explain", "-", stdin=MESSAGE)
    assert explanation.data == json.loads(said_by(oomph_bin, "explain", "--json", "-", stdin=MESSAGE))


def test_the_page_is_that_of_the_command(oomph_bin: str, fixtures: pathlib.Path, tmp_path: pathlib.Path) -> None:
    said_by(oomph_bin, "explain", fixtures / SNAPSHOT, "--html", tmp_path / "command.html")
    oomph.explain(fixtures / SNAPSHOT).save_html(tmp_path / "python.html")
    assert (tmp_path / "python.html").read_bytes() == (tmp_path / "command.html").read_bytes()


def test_a_notebook_shows_a_card(fixtures: pathlib.Path) -> None:
    for what in (fixtures / SNAPSHOT, MESSAGE):
        card = oomph.explain(what)._repr_html_()
        assert card.startswith('<div class="oomph-card"') and card.endswith("</div>\n")


def test_a_message_has_no_page(tmp_path: pathlib.Path) -> None:
    with pytest.raises(oomph.OomphError) as raised:
        oomph.explain(MESSAGE).save_html(tmp_path / "page.html")
    assert str(raised.value) == "a message alone has nothing to draw: explain a snapshot, then save its page"


def test_a_page_that_cannot_be_written_is_one_line(fixtures: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(oomph.OomphError) as raised:
        oomph.explain(fixtures / SNAPSHOT).save_html(tmp_path / "no/page.html")
    assert str(raised.value) == f"cannot write {tmp_path}/no/page.html: No such file or directory"


def test_what_cannot_be_read_is_one_line_as_by_the_command(
    oomph_bin: str, fixtures: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    damaged = tmp_path / "damaged.pickle.gz"
    damaged.write_bytes((fixtures / SNAPSHOT).read_bytes()[:9000])
    for path in (tmp_path / "missing.pickle", damaged, tmp_path):
        command = subprocess.run([oomph_bin, "explain", path], capture_output=True, text=True)
        assert command.stderr.startswith("oomph: ") and command.stderr.count("\n") == 1
        check_error(command.stderr.removeprefix("oomph: ").rstrip("\n"), path)
        check_error(command.stderr.removeprefix("oomph: ").rstrip("\n"), str(path))


def test_an_exception_is_explained_with_its_line() -> None:
    try:
        raise RuntimeError(LONG_MESSAGE)
    except RuntimeError as error:
        explanation = oomph.explain(error)
        assert oomph.explain().text == explanation.text
    [oom] = explanation.data["ooms"]
    assert (oom["tried_bytes"], oom["place"]["file"]) == (2 << 30, __file__)
    assert oom["place"]["function"] == "test_an_exception_is_explained_with_its_line"


def test_a_cause_that_another_exception_wraps_is_found() -> None:
    try:
        try:
            raise RuntimeError(MESSAGE)
        except RuntimeError as error:
            raise ValueError("the step failed") from error
    except ValueError as error:
        assert len(oomph.explain(error).data["ooms"]) == 1


def test_the_last_uncaught_exception_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("last_exc", "last_value"):
        monkeypatch.delattr("sys." + name, raising=False)
    check_error(NOTHING)
    monkeypatch.setattr("sys.last_value", KeyError("x"), raising=False)
    check_error(NOTHING)
    monkeypatch.setattr("sys.last_value", RuntimeError(MESSAGE), raising=False)
    assert oomph.explain().text == oomph.explain(MESSAGE).text


def test_a_run_is_explained_as_the_command_explains_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, fixtures: pathlib.Path, oomph_bin: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / ".oomph/20261115-064012-train-4711"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    (tmp_path / ".oomph/last").symlink_to(run.name)
    for rank, fixture in enumerate(["gpt2-static/snapshot.pickle.gz", SNAPSHOT]):
        (run / f"rank{rank}.pickle").write_bytes((fixtures / fixture).read_bytes())
        (run / f"rank{rank}.json").write_text("{}")
    printed = said_by(oomph_bin, "explain", ".oomph/last")
    assert oomph.explain().text == oomph.explain(".oomph/last").text == printed
    assert [rank["trace"]["events"] > 0 for rank in oomph.explain(run).data] == [True, True]


def test_a_recorded_process_explains_its_own_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, fixtures: pathlib.Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    process = Process(str(tmp_path))
    monkeypatch.setattr("sys._oomph_process", process, raising=False)
    path = tmp_path / f"{process.claim()}.pickle"
    path.write_bytes((fixtures / SNAPSHOT).read_bytes())
    check_error(NOTHING)
    process.recorder.ooms.append({"device": 0})
    assert oomph.explain().text == oomph.explain(path).text
    path.unlink()
    check_error(NOTHING)


def test_other_threads_go_on_meanwhile(tmp_path: pathlib.Path, run_python: Callable[..., str]) -> None:
    # The reader waits for this process to write. Did it keep the interpreter's lock, both would wait forever.
    code = """
import os, sys, threading, oomph
os.mkfifo(sys.argv[1])
found = []
reader = threading.Thread(target=lambda: found.append(oomph.explain(sys.argv[1]).data["lines"]))
reader.start()
with open(sys.argv[1], "w") as pipe:
    pipe.write("nothing\\\\nto see\\\\n")
reader.join()
print(found)
"""
    assert run_python(code.replace("\\\\", "\\"), str(tmp_path / "pipe")) == "[2]\n"


def test_a_forked_child_can_explain_too(fixtures: pathlib.Path, run_python: Callable[..., str]) -> None:
    code = """
import os, sys, oomph
before = oomph.explain(sys.argv[1]).text
child = os.fork()
if child == 0:
    os._exit(0 if oomph.explain(sys.argv[1]).text == before else 1)
print(os.waitpid(child, 0)[1])
"""
    assert run_python(code, str(fixtures / SNAPSHOT)) == "0\n"
