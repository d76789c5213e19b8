"""What people say about GPU memory: every program shows its ruling, and docs/folklore.md says what they measure."""

from __future__ import annotations

import os
import pathlib
import re
import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "folklore"))

import page  # noqa: E402
import run_claims  # noqa: E402
from claim import BadProgram, read  # noqa: E402

HEAD = {"Claim": "Memory is blue.", "Ruling": "false", "Why": "It has no colour.", "Topic": "Training"}


def program(folder: pathlib.Path, head: dict[str, str], code: str = "") -> pathlib.Path:
    """A folder with one program of this head."""
    lines = [f"{label}: {text}" for label, text in head.items()]
    (folder / "blue.py").write_text("\n".join(['"""', *lines, '"""', code, ""]))
    return folder


def test_every_ruling_is_shown_by_its_program_and_the_page_has_the_figures(
    phantom: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")  # as other tests leave it; the claims are about TensorFlow's Keras
    for module in ("torch", "tensorflow", "keras", "jax", "IPython", "jupyter_client"):
        if not _is_installed(module):
            pytest.skip(f"{module} is not installed here")
    claims = read(ROOT / "folklore" / "programs")
    assert page.text(claims, run_claims.run(claims, phantom)) == run_claims.PAGE.read_text()


def _is_installed(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is not None


def test_links_to_claims_lead_to_one() -> None:
    anchors = set(re.findall(r'<a id="([^"]+)">', run_claims.PAGE.read_text()))
    linked = {
        (path.name, anchor)
        for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for anchor in re.findall(r"folklore\.md#([\w-]+)", path.read_text())
    }
    assert linked
    assert sorted((name, anchor) for name, anchor in linked if anchor not in anchors) == []


def test_what_verdicts_and_advice_name_is_a_claim() -> None:
    anchors = set(re.findall(r'<a id="([^"]+)">', run_claims.PAGE.read_text()))
    diagnose = ROOT / "crates" / "diagnose" / "src"
    tables = {
        "judge/folklore.rs": r'=> "([\w-]+)"',
        "message/tables/cures.toml": r'^folklore = "([^"]*)"$',
        "explain.rs": r'folklore: Some\("([^"]*)"\)',
    }
    for table, entry in tables.items():
        named = re.findall(entry, (diagnose / table).read_text(), re.M)
        assert named, table
        assert sorted(set(named) - anchors) == [], table


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ({**HEAD, "Ruling": "mostly true"}, "blue.py: the ruling is not true, false or true when …: mostly true"),
        ({**HEAD, "Ruling": "true when"}, "blue.py: the ruling is not true, false or true when …: true when"),
        ({**HEAD, "Topic": "Weather"}, "blue.py: `Weather` is none of the topics of claim.py"),
        ({"Claim": "Memory is blue."}, "blue.py: its head has no `Ruling:`"),
        ({}, "blue.py: its head has no `Claim:`"),
        (
            {**HEAD, "Colour": "blue"},
            "blue.py: `Colour: blue` at its head is not one of Claim, Ruling, Why, Topic, On an H200",
        ),
    ],
)
def test_a_head_that_cannot_be_read_is_refused(head: dict[str, str], said: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(BadProgram) as error:
        read(program(tmp_path, head))
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("assert 1 == 2, 'it is green'", "blue.py fails, so its ruling is not shown: AssertionError: it is green"),
        ("", "blue.py: it has to print one line of JSON, names with numbers or texts"),
        ("print('{}')", "blue.py: it has to print one line of JSON, names with numbers or texts"),
        ("print('{\"a\": true}')", "blue.py: it has to print one line of JSON, names with numbers or texts"),
        ("print('a figure')", "blue.py: it has to print one line of JSON, names with numbers or texts"),
        ("print('{\"a\": 1}'); print(2)", "blue.py: it has to print one line of JSON, names with numbers or texts"),
    ],
)
def test_a_program_that_shows_nothing_is_refused(code: str, said: str, tmp_path: pathlib.Path) -> None:
    (claim,) = read(program(tmp_path, HEAD, code))
    with pytest.raises(BadProgram) as error:
        run_claims.measured(claim, sys.executable, dict(os.environ))
    assert str(error.value) == said


def test_a_section_has_claim_ruling_reason_and_figures(tmp_path: pathlib.Path) -> None:
    head = {**HEAD, "Ruling": "true when the sun shines", "On an H200": "it was green."}
    (claim,) = read(program(tmp_path, head, "print('{\"in use\": 1536.25, \"the sky\": \"grey\"}')"))
    figures = run_claims.measured(claim, sys.executable, dict(os.environ))
    assert page.section(claim, figures) == """\
<a id="blue"></a>

### Memory is blue.

**True when the sun shines.** It has no colour.

| [blue.py](../folklore/programs/blue.py) | measured |
|---|---|
| In use | 1,536.25 MiB |
| The sky | grey |

*On an H200*: it was green.
"""
