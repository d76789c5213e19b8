"""`oomph run --resume` of a job that needs more memory than there is: each try takes one measure more."""

from __future__ import annotations

import pytest
from programs import LEAK, Programs
from test_fit_command import SCRIPT, fitted

MIB = 1 << 20
# 2 MiB of weights, gradients and state, and 4 tensors of 8 MiB in each of 12 blocks.
SAVING = SCRIPT.replace(
    "for step in range(6):",
    "import oomph\nsaved = oomph.checkpoint(model, optimizer, every=1)\nfor step in saved.steps(6):",
)


def resumed(programs: Programs, source: str, limit: int, *words: str) -> tuple[int, str, list[str]]:
    """The exit code, what the script printed, and the lines of oomph."""
    done = programs.run(source, "--limit", str(limit), *words)
    said = [line.removeprefix("oomph: ") for line in done.stderr.splitlines() if line.startswith("oomph: ")]
    return done.code, done.stdout, said


def test_each_try_takes_one_measure_more_and_says_how_exact_it_is(programs: Programs) -> None:
    code, free = fitted(programs, "--gpu", "T4")
    limit = free["peak_reserved"] * 7 // 10
    code, printed, said = resumed(programs, SAVING, limit, "--resume", "5")
    assert (code, printed) == (0, "trained 32 1\n"), said
    fused = "fused optimizer (up to rounding)"
    assert said[:2] == [
        f"started again (1 of 5) before its first step, with {fused}: it ran out of memory",
        f"started again (2 of 5) before its first step, with {fused} and checkpointing of 6 of 12 blocks (bit for bit): "
        "it ran out of memory",
    ]
    # As often as allowed, and no more.
    code, printed, said = resumed(programs, SCRIPT, limit, "--resume", "1")
    assert (code, printed) == (1, "")
    assert said[1:] == ["not started again before its first step: it ran out of memory, and it got no further than before"]


@pytest.mark.long
def test_what_fit_has_found_is_taken_first(programs: Programs) -> None:
    code, free = fitted(programs, "--gpu", "T4")
    limit = free["peak_reserved"] * 7 // 10
    code, answer = fitted(programs, "--limit", str(limit))
    code, printed, said = resumed(programs, SCRIPT, limit, "--resume", "3")
    assert (code, printed) == (0, "trained 32 1\n"), said
    words = " and ".join(f"{measure['what']} ({measure['exact']})" for measure in answer["chosen"]["measures"])
    assert said[:1] == [f"started again (1 of 3) before its first step, with {words}: it ran out of memory"]


def test_a_leak_is_promised_nothing(programs: Programs) -> None:
    source = LEAK.replace("import oomph\n", "") + "\ntrain()\n"
    code, printed, said = resumed(programs, source, 600 * MIB, "--resume", "2")
    assert code == 1
    assert said[0].startswith("started again (1 of 2) after step ") and said[0].endswith(": it ran out of memory")
    assert "with" not in said[0], said
