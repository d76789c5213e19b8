"""`oomph.free()`: what an error keeps alive is really freed, and what is left is named."""

from __future__ import annotations

import subprocess
import sys
import weakref
from types import FrameType
from typing import Any

import pytest
from programs import LEAK, Programs

import oomph
from oomph._errors import clear_frames, is_out_of_memory
from oomph._free_report import FreeReport, Memory, Stage
from oomph._holders import Holder
from oomph._recorder.exceptions import chain

torch = pytest.importorskip("torch")


class Big:
    """Stands for a tensor, so that its end can be watched."""


def fail(watched: list[Any], error: type[Exception] = RuntimeError, text: str = "CUDA out of memory") -> None:
    held = Big()
    watched.append(weakref.ref(held))
    raise error(text)


def caught(watched: list[Any], error: type[Exception] = RuntimeError) -> Exception:
    try:
        fail(watched, error)
    except Exception as found:
        return found
    raise AssertionError


@pytest.fixture(autouse=True)
def clean_sys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("last_exc", "last_value", "last_traceback", "last_type"):
        monkeypatch.delattr(sys, name, raising=False)


def test_an_object_in_a_frame_of_the_last_exception_is_freed() -> None:
    watched: list[Any] = []
    error = caught(watched, ValueError)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    del error
    assert watched[0]() is not None
    oomph.free(verbose=False)
    assert watched[0]() is None
    assert not hasattr(sys, "last_value")


def test_the_whole_chain_is_cleared_though_the_error_is_kept() -> None:
    watched: list[Any] = []

    def second() -> None:
        held = Big()
        watched.append(weakref.ref(held))
        try:
            fail(watched)
        except RuntimeError as cause:
            try:
                fail(watched, KeyError)
            except KeyError:
                raise ValueError("wrapped") from cause

    try:
        second()
    except ValueError as found:
        kept = found
    assert len(list(chain(kept))) == 3
    assert [ref() is None for ref in watched] == [False, False, False]
    sys.last_value = kept
    oomph.free(verbose=False)
    assert [ref() is None for ref in watched] == [True, True, True]
    assert kept.__traceback__ is not None


def test_a_copy_of_the_variables_does_not_outlive_them() -> None:
    watched: list[Any] = []
    error = caught(watched)
    step: Any = error.__traceback__
    while step.tb_next is not None:
        step = step.tb_next
    frame: FrameType = step.tb_frame
    _ = frame.f_locals
    # `caught` and `fail`.
    assert clear_frames([error]) == 2
    assert watched[0]() is None


def test_frames_that_still_run_are_left_alone() -> None:
    mine = Big()
    watched: list[Any] = []
    try:
        fail(watched)
    except RuntimeError:
        freed = oomph.free(verbose=False)
        assert watched[0]() is None
        assert mine is not None
    assert freed.stages[0].note.endswith("cleared")


def test_an_out_of_memory_error_that_a_variable_keeps_lets_go_and_others_do_not() -> None:
    watched: list[Any] = []
    kept = [caught(watched, RuntimeError), caught(watched, KeyError)]
    oomph.free(verbose=False)
    assert [ref() is None for ref in watched] == [True, False]
    assert len(kept) == 2


def test_cycles_are_collected() -> None:
    first, second = Big(), Big()
    first.other, second.other = second, first  # type: ignore[attr-defined]
    watched = weakref.ref(first)
    del first, second
    freed = oomph.free(verbose=False)
    assert watched() is None
    assert [stage.name for stage in freed.stages][2] == "reference cycles"
    assert freed.stages[2].note != "0 objects collected"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes"), True),
        (type("ResourceExhaustedError", (Exception,), {})("OOM when allocating tensor"), True),
        (MemoryError(), True),
        (type("NoRoom", (torch.OutOfMemoryError,), {})("the batch is too large"), True),
        (RuntimeError("shape mismatch"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_errors_that_say_memory_ran_out(error: BaseException, expected: bool) -> None:
    assert is_out_of_memory(error) is expected


def test_without_torch_it_says_so_and_does_not_import_it() -> None:
    code = "import sys, oomph; print(oomph.free(verbose=False)); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "no GPU memory to free: torch is not imported, so it holds no GPU memory here"
    assert lines[-1] == "False"
    assert done.stderr == ""


def test_the_report_goes_to_stderr() -> None:
    done = subprocess.run([sys.executable, "-c", "import oomph; oomph.free()"], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr.startswith("no GPU memory to free: torch is not imported")


REPORT = """\
freed 5.50 GiB of tensors; 6.00 GiB went back to the driver
    5.00 GiB  the last exception: 12 frames cleared
         0 B  IPython's results: 3 dropped
  512.00 MiB  reference cycles: 40 objects collected
    6.00 GiB  PyTorch's cache: given back to the driver
still held on GPU 0: 2.00 GiB, 100.00 MiB cached
    1.00 GiB  trainer.accelerator.unwrapped.model: Sequential, 268.44 M
              parameters
  512.00 MiB  losses: list of 200 tensors, the largest 1024×1024 float32, 200
              with their graphs
  512.00 MiB  no tensor of Python's: kept for backward, workspaces, rounding"""


def test_the_report_is_whole_and_fits_80_columns() -> None:
    gib, mib = 1 << 30, 1 << 20
    freed = FreeReport(
        None,
        (Memory(0, 7 * gib + 512 * mib, 8 * gib + 100 * mib),),
        (Memory(0, 2 * gib, 2 * gib + 100 * mib), Memory(1, 0, 0)),
        (
            Stage("the last exception", "12 frames cleared", 5 * gib, 0),
            Stage("IPython's results", "3 dropped", 0, 0),
            Stage("reference cycles", "40 objects collected", 512 * mib, 0),
            Stage("PyTorch's cache", "given back to the driver", 0, 6 * gib),
        ),
        (
            Holder(0, gib, 4, "trainer.accelerator.unwrapped.model", "Sequential, 268.44 M parameters"),
            Holder(0, 512 * mib, 200, "losses", "list of 200 tensors, the largest 1024×1024 float32, 200 with their graphs"),
        ),
        ((0, 512 * mib), (1, 0)),
    )
    assert str(freed) == REPORT
    assert max(len(line) for line in str(freed).splitlines()) <= 80
    page = freed._repr_html_()
    style = "text-align:left;vertical-align:top;white-space:normal;overflow-wrap:anywhere"
    assert f"<td style='{style}'>trainer.accelerator.unwrapped.model: Sequential, 268.44 M parameters</td>" in page


def test_a_name_is_no_markup() -> None:
    holder = Holder(0, 1, 1, "d['<img src=x>']", "1 float32")
    freed = FreeReport(None, (), (Memory(0, 1, 1),), (Stage("a", "b", 0, 0),), (holder,), ((0, 0),))
    assert "<img" not in freed._repr_html_()


def test_what_graphs_keep_is_charged_to_the_list_of_losses(programs: Programs) -> None:
    source = LEAK + "\nfor _ in range(3):\n    step()\nprint(oomph.free(verbose=True))"
    lines = programs.alone(source).stdout.splitlines()
    assert lines[5].startswith("still held on GPU 0: ")
    assert lines[6] == "  144.00 MiB  losses: list of 3 tensors, the largest scalar float32, 3 with"
    assert lines[7] == "              their graphs of 144.00 MiB"


@pytest.mark.gpu
def test_after_a_real_failure_it_frees_what_it_says() -> None:
    torch.cuda.empty_cache()

    def step() -> None:
        kept = torch.zeros(256 << 20, dtype=torch.uint8, device="cuda")
        torch.zeros(1 << 50, dtype=torch.uint8, device="cuda")
        assert kept is not None

    before = torch.cuda.memory_allocated()
    try:
        step()
    except torch.OutOfMemoryError as error:
        sys.last_value = error
    assert torch.cuda.memory_allocated() - before == 256 << 20
    freed = oomph.free()
    assert torch.cuda.memory_allocated() == before
    assert freed.stages[0].allocated == 256 << 20
    assert freed.reserved >= 256 << 20
