"""`@pytest.mark.oomph_limit_gpu_memory`, in runs of pytest of its own."""

from __future__ import annotations

import gzip
import pathlib
import pickle

import pytest

from oomph import _peak

pytest_plugins = ["pytester"]

# Stands for torch on two cards. `take` allocates and frees; what is left over from before is on card 0.
FAKE = """
import sys, types
GIB = 1 << 30
held, peaks = [GIB, 0], [9 * GIB, 9 * GIB]
def take(size, device=0):
    peaks[device] = max(peaks[device], held[device] + size)
def reset(device):
    peaks[device] = held[device]
torch = types.ModuleType("torch")
torch.take = take
torch._C = types.SimpleNamespace()
torch.cuda = types.SimpleNamespace(
    init=lambda: None, is_available=lambda: True, is_initialized=lambda: True, device_count=lambda: 2,
    memory_allocated=lambda n: held[n], max_memory_allocated=lambda n: peaks[n], reset_peak_memory_stats=reset)
sys.modules["torch"] = torch
"""


def outcomes(pytester: pytest.Pytester, test: str, *options: str, conftest: str = "") -> pytest.RunResult:
    pytester.makeconftest(conftest)
    pytester.makepyfile(test_it="import pytest\n" + test)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rs", "--strict-markers", *_plugin(), *options)


def _plugin() -> list[str]:
    """Loads the plugin by name where the package is not installed."""
    from importlib.metadata import entry_points

    known = any(entry.value == "oomph.pytest_plugin" for entry in entry_points(group="pytest11"))
    return [] if known else ["-p", "oomph.pytest_plugin"]


def test_a_greedy_test_fails_and_says_by_how_much(pytester: pytest.Pytester) -> None:
    test = """
import torch
@pytest.mark.oomph_limit_gpu_memory("2 GiB")
def test_modest(): torch.take(2 << 30)
@pytest.mark.oomph_limit_gpu_memory("2 GiB")
def test_greedy(): torch.take((2 << 30) + 1); torch.take(3 << 30)
@pytest.mark.oomph_limit_gpu_memory("2 GB")
def test_elsewhere(): torch.take(5 << 30, device=1)
@pytest.mark.oomph_limit_gpu_memory("2048 MB", device=0)
def test_not_asked(): torch.take(5 << 30, device=1)
def test_free(): torch.take(50 << 30)
@pytest.mark.oomph_limit_gpu_memory("1 B")
def test_wrong(): torch.take(2); assert 1 == 2
"""
    result = outcomes(pytester, test, conftest=FAKE)
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*_ test_greedy _*",
            "oomph_limit_gpu_memory: the test took 3.00 GiB on GPU 0, its limit is 2.00 GiB (1.00 GiB was in use before it "
            "and is not counted)",
            "*_ test_elsewhere _*",
            "oomph_limit_gpu_memory: the test took 5.00 GiB on GPU 1, its limit is 2.00 GiB",
            "*_ test_wrong _*",
            "E * assert 1 == 2",
            "*- oomph_limit_gpu_memory -*",
            "oomph_limit_gpu_memory: the test took 2 B on GPU 0, its limit is 1 B (1.00 GiB was in use before it and is not *",
        ]
    )


def test_without_a_gpu_it_is_skipped_with_the_reason_or_fails_if_told(pytester: pytest.Pytester) -> None:
    pytest.importorskip("torch")
    test = "@pytest.mark.oomph_limit_gpu_memory('2 GiB')\ndef test_a(): pass\n"
    conftest = "import torch; torch.cuda.is_available = lambda: False"
    result = outcomes(pytester, test, conftest=conftest)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * oomph_limit_gpu_memory: torch finds no CUDA device here"])
    result = outcomes(pytester, test, "--oomph-strict-gpu", conftest=conftest)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*oomph_limit_gpu_memory: torch finds no CUDA device here"])


def test_without_torch_it_is_skipped_and_torch_is_imported_for_no_other_test(pytester: pytest.Pytester) -> None:
    conftest = "import sys; sys.modules['torch'] = None"
    result = outcomes(pytester, "@pytest.mark.oomph_limit_gpu_memory('1 GiB')\ndef test_a(): pass", conftest=conftest)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * oomph_limit_gpu_memory: torch is not installed"])
    test = "def test_b():\n    import sys\n    assert 'torch' not in sys.modules\n"
    outcomes(pytester, test).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("'2 parsecs'", "`2 parsecs` is not a size: write a number and a unit, such as 12GiB, 512MiB or 1073741824"),
        ("2", "the limit is a text such as '2 GiB', not 2"),
        ("", "missing a required argument: 'limit'"),
        ("'2 GiB', current_thread_only=True", "got an unexpected keyword argument 'current_thread_only'"),
    ],
)
def test_a_mark_that_says_something_else_is_an_error_of_use(pytester: pytest.Pytester, mark: str, said: str) -> None:
    result = outcomes(pytester, f"@pytest.mark.oomph_limit_gpu_memory({mark})\ndef test_a(): pass\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: test_it.py::test_a: oomph_limit_gpu_memory: {said}"])


def test_every_option_and_mark_is_named_after_the_package(pytester: pytest.Pytester) -> None:
    for flag, sign in (("--help", "--oomph-"), ("--markers", "@pytest.mark.oomph_")):
        bare = set(pytester.runpytest_subprocess(flag, "-p", "no:oomph").outlines)
        lines = [line.strip() for line in pytester.runpytest_subprocess(flag, *_plugin()).outlines if line not in bare]
        added = [line for line in lines if line.startswith(("-", "@"))]
        assert added and all(line.startswith(sign) for line in added), added


def test_the_mark_is_known(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--markers", *_plugin())
    result.stdout.fnmatch_lines(["@pytest.mark.oomph_limit_gpu_memory(limit, [*], device=None): fail the test if *"])


def test_lines_at_the_peak_are_of_the_stretch_that_is_asked_for(fixtures: pathlib.Path) -> None:
    with gzip.open(fixtures / "fragmentation-oom" / "snapshot.pickle.gz") as file:
        snapshot = pickle.load(file)
    events = snapshot["device_traces"][0]
    found = _peak.lines(_peak.since(snapshot, events[0]["time_us"]))
    assert [str(line) for line in found][:2] == [
        "  1.93 GiB  train.py:142 case_frag_split ×11",
        "  1.17 GiB  train.py:139 case_frag_split ×200",
    ]
    assert _peak.lines(_peak.since(snapshot, events[-1]["time_us"] + 1)) == []
    later = _peak.since(snapshot, events[100]["time_us"])
    assert 0 < len(later["device_traces"][0]) < len(events)


@pytest.mark.gpu
def test_a_greedy_test_on_a_real_card(pytester: pytest.Pytester) -> None:
    test = """
import torch
@pytest.fixture(autouse=True)
def recorded():
    torch.cuda.memory._record_memory_history(context="alloc", stacks="python")
    yield
    torch.cuda.memory._record_memory_history(None)
@pytest.mark.oomph_limit_gpu_memory("256 MiB")
def test_modest(): torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
@pytest.mark.oomph_limit_gpu_memory("256 MiB")
def test_greedy(): torch.empty(258 << 20, dtype=torch.uint8, device="cuda")
"""
    result = outcomes(pytester, test)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "oomph_limit_gpu_memory: the test took 258.00 MiB on GPU 0, its limit is 256.00 MiB",
            "*- lines that held most at the peak -*",
            "258.00 MiB  test_it.py:* test_greedy",
        ]
    )


@pytest.mark.parametrize("strict", [True, False])
def test_a_test_that_is_to_fail_may_fail_of_its_limit(pytester: pytest.Pytester, strict: bool) -> None:
    test = f"""
import torch
@pytest.mark.xfail(strict={strict})
@pytest.mark.oomph_limit_gpu_memory("2 GiB")
def test_greedy(): torch.take(3 << 30)
"""
    outcomes(pytester, test, conftest=FAKE).assert_outcomes(xfailed=1)
