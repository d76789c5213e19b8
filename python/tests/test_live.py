"""What the recorder publishes of a process that runs: its pulse, its last minutes, what its memory is for."""

from __future__ import annotations

import os
import pathlib
import struct

from programs import MODEL, Programs

from oomph._recorder.live import KEPT, History
from oomph._recorder.pulse import Pulse

MIB = 1 << 20


def noted(path: pathlib.Path) -> tuple[int, ...]:
    return struct.unpack("<QQQ", path.read_bytes())


def test_a_pulse_is_noted_in_slow_steps_and_always_at_evaluation(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "main.pulse"
    pulse = Pulse(str(path))
    pulse.note(10, "backward", 0)
    assert noted(path) == (10, 0, 1)
    pulse.note(2_000_000, "step", 1)
    pulse.note(2_100_000, "optimizer", 1)
    assert noted(path) == (2_100_000, 1, 3)
    pulse.note(2_500_000, "step", 2)
    pulse.note(2_600_000, "backward", 2)
    assert noted(path) == (2_100_000, 1, 3), "that step was fast"
    pulse.note(2_700_000, "eval", 2)
    assert noted(path) == (2_700_000, 2, 6)


def test_a_file_that_the_program_opens_under_its_number_is_not_touched(tmp_path: pathlib.Path) -> None:
    pulse = Pulse(str(tmp_path / "main.pulse"))
    number = pulse._number
    assert number is not None
    os.close(number)
    own = os.open(tmp_path / "results", os.O_CREAT | os.O_RDWR)
    try:
        assert own == number, "the lowest number that is free is taken"
        os.write(own, b"the program's results, which are longer")
        pulse.note(5_000_000, "backward", 1)
        pulse.note(6_000_000, "eval", 1)
        assert (tmp_path / "results").read_bytes() == b"the program's results, which are longer"
    finally:
        os.close(own)


def test_a_pulse_that_cannot_be_written_harms_nobody(tmp_path: pathlib.Path) -> None:
    (tmp_path / "main.pulse").write_bytes(b"of somebody else")
    pulse = Pulse(str(tmp_path / "main.pulse"))
    pulse.note(5_000_000, "eval", 1)
    assert (tmp_path / "main.pulse").read_bytes() == b"of somebody else"
    Pulse(str(tmp_path / "no" / "main.pulse")).note(1, "eval", 1)


def test_a_history_keeps_the_last_notes_of_each_device() -> None:
    history = History()
    for n in range(KEPT + 5):
        history.note(n, n // 2, [{"index": 1, "allocated": n, "reserved": 2 * n, "peak_allocated": 3 * n}])
    assert len(history.of(1)) == KEPT
    assert history.of(1)[0] == [5, 2, 5, 10, 15]
    assert history.of(1)[-1] == [KEPT + 4, (KEPT + 4) // 2, KEPT + 4, 2 * KEPT + 8, 3 * KEPT + 12]
    assert history.of(0) == []


TWO_MODELS = (
    MODEL
    + """
def train(steps, size):
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.ones(size, device="cuda")).sum().backward()
        optimizer.step()

train(4, 1 << 20)
if {second}:
    del model, optimizer
    model = Scale(1 << 22).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    train(10, 1 << 22)
"""
)


def test_what_models_and_optimizers_hold_is_counted_by_class(programs: Programs) -> None:
    def by_class(second: bool) -> dict[str, int]:
        device = programs.run(TWO_MODELS.replace("{second}", str(second))).recording()["oomph"]["devices"][0]
        found: dict[str, int] = device["by_class"]
        return found

    expected = {"weights": 8 * MIB, "gradients": 8 * MIB, "optimizer": 16 * MIB, "buffers": 8 * MIB}
    assert by_class(second=False) == expected
    # Another model takes its place: plain SGD keeps nothing.
    assert by_class(second=True) == {"weights": 16 * MIB, "gradients": 16 * MIB, "buffers": 16 * MIB}


def test_they_are_counted_where_a_step_ends(programs: Programs) -> None:
    source = TWO_MODELS.replace("{second}", "False") + (
        """
import sys
holdings = sys._oomph_process.recorder._holdings
def gradients(has_ended):
    return holdings.by_class(torch, 0, has_ended).get("gradients", 0) >> 20
found = [gradients(True)]
optimizer.zero_grad()
holdings._due_us = 1
found += [gradients(False), gradients(True)]
print(found)
"""
    )
    # A recording that is asked for in the middle of a step tells what was there at the end of the one before.
    assert programs.run(source).stdout == "[8, 8, 0]\n"


def test_before_the_second_step_nothing_is_known(programs: Programs) -> None:
    device = programs.run(MODEL).recording()["oomph"]["devices"][0]
    assert device["by_class"] is None and device["history"] == []
