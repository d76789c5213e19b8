"""What `oomph plan` says of real programs: PyTorch itself on a GPU that is not there."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from types import TracebackType
from typing import Any

import pytest
from programs import GIB, Programs

TRAIN = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=8)
batch = parser.parse_args().batch
layers = [torch.nn.Linear(4096, 4096) for _ in range(4)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(1000):
    loss = model(torch.randn(batch, 1024, 4096, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step, loss.item())
"""

# Parameters, their gradients and two moments of Adam: 4 layers of 4096 × 4097 numbers of 4 bytes.
WEIGHTS = 4 * 4096 * 4097 * 4


class PlanOutput:
    """What a plan printed."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.stdout)
        return found


def plan(
    programs: Programs,
    source: str,
    *options: str,
    args: tuple[str, ...] = (),
    name: str = "train.py",
    is_warm: bool = True,
) -> PlanOutput:
    programs.write(source, name)
    python = programs.warm_python if is_warm else sys.executable
    words = [programs.oomph, "plan", "--python", python, *options, name, *args]
    environment = {**programs.environment(None), "OOMPH_PHANTOM_LIB": programs.phantom}
    return PlanOutput(
        subprocess.run(words, cwd=programs.folder, env=environment, capture_output=True, text=True, timeout=300)
    )


def test_a_job_that_fits_is_told_with_its_peak_line_and_classes(programs: Programs) -> None:
    done = plan(programs, TRAIN, "--gpu", "H200", "--json", args=("--batch", "4"), is_warm=False)
    assert done.code == 0, done.stderr
    answer = done.json()
    assert (answer["gpu"], answer["fits"], answer["steps"]) == ("H200", True, 37)
    assert answer["peak_requested"] <= answer["peak_allocated"] <= answer["peak_reserved"]
    assert answer["process_bytes"] == answer["peak_reserved"] + answer["context_bytes"]
    assert answer["by_class"]["weights"] == WEIGHTS
    assert answer["by_class"]["optimizer_state"] == 2 * WEIGHTS
    assert abs(sum(answer["by_class"].values()) - answer["peak_allocated"]) <= answer["peak_allocated"] // 100
    assert answer["at"]["file"].endswith("train.py") and answer["at"]["phase"] in ("backward", "optimizer")
    assert any("stood still" in caveat for caveat in answer["caveats"])
    assert any("train.py:16 (item)" in caveat for caveat in answer["caveats"])
    # What the script prints is kept apart from the answer.
    assert "step 0 1.0" in done.stderr


MODULES = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(1024, 4096, bias=False), nn.Linear(4096, 1024, bias=False)

    def forward(self, x):
        return self.down(self.up(x).relu())

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(6))
        self.out = nn.Linear(1024, 16, bias=False)

    def forward(self, x):
        for block in self.blocks:
            x = %s
        return self.out(x)

model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(9):
    model(torch.randn(2048, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def by_module(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows by their whole names."""
    path: list[str] = []
    rows = {}
    for row in answer["by_module"]:
        path[row["depth"] :] = [row["name"]]
        rows[".".join(path)] = row
    return rows


def test_memory_at_the_peak_is_told_by_module(programs: Programs) -> None:
    answer = plan(programs, MODULES % "block(x)", "--gpu", "H200", "--json").json()
    rows = by_module(answer)
    assert sum(row["bytes"] for row in answer["by_module"] if row["depth"] == 0) == answer["peak_allocated"]
    blocks = rows["Net.blocks.0-5"]
    assert (blocks["class"], blocks["count"]) == ("Block", 6)
    matrix = 6 * 1024 * 4096 * 4
    for name in ("up", "down"):
        found = rows[f"Net.blocks.0-5.{name}"]["by_class"]
        assert (found["weights"], found["optimizer_state"]) == (matrix, matrix), name
    # The peak is in the backward pass of the last block: its result is used up. What `up` made is gone since relu has made its
    # own, which is the block's.
    kept, inner = 2048 * 1024 * 4, 2048 * 4096 * 4
    assert rows["Net.blocks.0-5.down"]["by_class"]["activations"] == 5 * kept
    assert "activations" not in rows["Net.blocks.0-5.up"]["by_class"]
    assert rows["Net.blocks.0-5"]["by_class"]["activations"] == 5 * kept + 6 * inner
    assert rows["backward pass"]["class"] is None
    shown = plan(programs, MODULES % "block(x)", "--gpu", "H200").stdout
    assert "    blocks.0-5 ×6 " in shown.partition("In use at the peak, by module\n")[2], shown


def test_what_is_computed_again_belongs_to_its_module(programs: Programs) -> None:
    again = "checkpoint(block, x, use_reentrant=False)"
    answer = plan(programs, MODULES % again, "--gpu", "H200", "--json").json()
    rows = by_module(answer)
    # The peak is in the first block, the last to be computed again: what relu made of it, and no other block's.
    assert rows["Net.blocks.0-5"]["by_class"]["activations"] == 2048 * 4096 * 4


def test_a_script_is_named_whatever_its_path_contains(programs: Programs) -> None:
    (programs.folder / "oomph_plan" / "_plan").mkdir(parents=True)
    answer = plan(programs, TRAIN, "--gpu", "H200", "--json", name="oomph_plan/_plan/train_plan.py").json()
    assert answer["at"]["file"].endswith("/train_plan.py")
    assert any("train_plan.py:16 (item)" in caveat for caveat in answer["caveats"]), answer["caveats"]


def test_lines_of_oomph_are_told_by_their_folders(tmp_path: pathlib.Path) -> None:
    from oomph._plan import tracebacks

    copy = tmp_path / "my_plan" / "_oomph_plan" / "tracebacks.py"
    copy.parent.mkdir(parents=True)
    copy.write_text(pathlib.Path(tracebacks.__file__).read_text())
    spec = importlib.util.spec_from_file_location("tracebacks", copy)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    trace: TracebackType | None = None
    for name in ("my_plan/train.py", "my_plan/_oomph_plan/stage.py", "my_plan/_oomph_recorder/marks.py"):
        try:
            exec(compile("raise KeyError", str(tmp_path / name), "exec"))
        except KeyError as error:
            assert error.__traceback__ is not None and error.__traceback__.tb_next is not None
            inner = error.__traceback__.tb_next
            trace = TracebackType(trace, inner.tb_frame, inner.tb_lasti, inner.tb_lineno)
    left = module.without_ours(trace)
    assert left.tb_frame.f_code.co_filename == str(tmp_path / "my_plan/train.py") and left.tb_next is None


def test_its_recording_is_one_like_any_other(programs: Programs) -> None:
    answer = plan(programs, TRAIN, "--gpu", "H200", "--json").json()
    replayed = programs.json("replay", programs.folder / ".oomph" / "last")
    assert replayed["fidelity"]["exact"]
    assert replayed["replayed"]["peak_reserved"] == answer["peak_reserved"]
    assert replayed["replayed"]["peak_requested"] == answer["peak_requested"]


def test_a_job_that_does_not_fit_is_told_what_would_change_it(programs: Programs) -> None:
    done = plan(programs, TRAIN, "--memory", "1.75GiB", "--capability", "8.9", "--json", args=("--batch", "8"))
    assert done.code == 1, done.stderr
    answer = done.json()
    assert answer["fits"] is False and answer["total_bytes"] == 7 * GIB // 4
    options = {option["change"]: option for option in answer["options"]}
    assert options["bf16 autocast"]["how"] == "planned"
    assert options["bf16 autocast"]["peak_reserved"] < answer["peak_reserved"]
    # Neither does this model offer it, nor does a fused optimizer need less at the peak in backward.
    assert "gradient checkpointing" not in options


DEEP = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=8)
batch = parser.parse_args().batch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.narrow = torch.nn.Linear(512, 2048), torch.nn.Linear(2048, 512)
    def forward(self, x):
        return x + self.narrow(torch.nn.functional.gelu(self.wide(x)))

model = torch.nn.Sequential(*[Block() for _ in range(8)]).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(9):
    model(torch.randn(batch, 1024, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_where_no_change_suffices_several_do_together(programs: Programs) -> None:
    # Too little for each alone, enough for two. The T4 does not compute in bf16.
    words = ("--gpu", "T4", "--limit", "1.5GiB", "--json")
    done = plan(programs, DEEP, *words, args=("--batch", "32"))
    assert done.code == 1, done.stderr
    answer = done.json()
    best, *others = answer["options"]
    assert (best["change"], best["fits"], best["how"]) == ("fp16 autocast + gradient checkpointing", True, "planned")
    assert len(best["do"]) == 2 and "torch.float16" in best["do"][0] and "does not compute in bf16" in best["do"][0]
    assert not any(other["fits"] for other in others) and answer["least"] is None
    assert best["peak_reserved"] < min(other["peak_reserved"] for other in others)


def test_where_nothing_suffices_the_least_is_told_at_the_smallest_batch(programs: Programs) -> None:
    words = ("--gpu", "L4", "--limit", "150MiB", "--vary", "--batch", "--json")
    done = plan(programs, DEEP, *words, args=("--batch", "2"))
    assert done.code == 1, done.stderr
    answer = done.json()
    assert answer["vary"]["largest"] is None
    assert [run["value"] for run in answer["vary"]["values"]] == [1, 2]
    assert all(option["largest"] == {"value": None, "open": False} for option in answer["options"])
    # Weights, their gradients and both moments of Adam, of 8 bits at least, are there whatever is changed.
    weights = 8 * (2 * 512 * 2048 + 2048 + 512) * 4
    assert answer["least"]["value"] == 1 and 2.5 * weights < answer["least"]["peak_reserved"]
    assert "8-bit optimizer" in answer["least"]["change"]
    assert answer["least"]["peak_reserved"] <= min(run["peak_reserved"] for run in answer["vary"]["values"])


def test_the_largest_batch_is_found_and_the_next_does_not_fit(programs: Programs) -> None:
    limit = ("--gpu", "L4", "--limit", "3GiB", "--no-options", "--json")
    done = plan(programs, TRAIN, *limit, "--vary", "--batch", args=("--batch", "16"))
    assert done.code == 1, done.stderr
    vary = done.json()["vary"]
    assert any("only the next is known not to fit" in caveat for caveat in done.json()["caveats"])
    largest = vary["largest"]
    assert 1 <= largest < 16 and vary["micro"] * vary["accumulate"] == 16 and vary["micro"] <= largest
    for batch, fits in ((largest, True), (largest + 1, False)):
        assert plan(programs, TRAIN, *limit, args=("--batch", str(batch))).json()["fits"] is fits


def test_without_a_card_every_card_is_answered_for(programs: Programs) -> None:
    done = plan(programs, TRAIN, "--json", args=("--batch", "1"))
    assert done.code == 0, done.stderr
    answers: Any = json.loads(done.stdout)
    totals = [answer["total_bytes"] for answer in answers]
    assert len(answers) == 16 and totals == sorted(totals)
    assert {answer["gpu"]: answer["seen_on"] for answer in answers}["A100-40"] == "L4"
    # Larger workspaces: those of cuBLAS on Hopper.
    by_name = {answer["gpu"]: answer for answer in answers}
    assert by_name["H200"]["peak_requested"] > by_name["L4"]["peak_requested"]


def test_weights_are_never_filled(programs: Programs) -> None:
    source = """
        import torch
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
        before = resident()
        model = torch.nn.Sequential(*[torch.nn.Linear(8192, 8192) for _ in range(16)]).half()
        torch.nn.init.trunc_normal_(model[0].weight)
        model.load_state_dict({name: torch.ones_like(value) for name, value in model.state_dict().items()})
        model = model.cuda()
        print("grew by", resident() - before)
        """
    done = plan(programs, source, "--gpu", "H200", "--json")
    assert done.code == 0, done.stderr
    assert done.json()["peak_requested"] == 16 * 8192 * 8193 * 2
    assert int(done.stderr.split("grew by")[1].split()[0]) < 200


def test_small_values_are_true(programs: Programs) -> None:
    source = """
        import torch
        lengths = torch.tensor([3, 5, 2]).cuda()
        mask = torch.arange(10, device="cuda")[None] < lengths[:, None]
        print(mask.sum().item(), tuple(mask.nonzero().shape), lengths.tolist(), bool((lengths > 0).all()))
        values = torch.randn(3, 10, 4, device="cuda")
        print(tuple(values[mask].shape), tuple(torch.masked_select(values, mask[..., None]).shape))
        counts = torch.zeros(4, dtype=torch.long, device="cuda")
        counts[1] = 3
        counts += 1
        print(counts.cpu().numpy(), int(counts[1]), counts.unique().tolist(), f"{counts.max()}")
        big = torch.randn(1000, 1000, device="cuda") @ torch.randn(1000, 1000, device="cuda")
        print(torch.isfinite(big).all().item(), torch.isnan(big.sum()).item(), big.sum().item())
        """
    done = plan(programs, source, "--gpu", "T4", "--json")
    assert done.code == 0, done.stderr
    assert done.stderr.splitlines()[:4] == [
        "10 (10, 2) [3, 5, 2] True",
        "(10, 4) (40,)",
        "[1 4 1 1] 4 [1, 4] 4",
        "True False 1.0",
    ]


def test_pinned_memory_of_the_host_is_told(programs: Programs, torch: Any) -> None:
    if not hasattr(torch.cuda, "host_memory_stats"):
        pytest.skip("this PyTorch does not count it")
    source = """
        import torch
        kept = [torch.empty(100 << 20, dtype=torch.uint8).pin_memory() for _ in range(2)]
        kept[0].cuda()
        """
    answer = plan(programs, source, "--gpu", "T4", "--json").json()
    assert answer["pinned_bytes"] == 2 << 27
    shown = plan(programs, source, "--gpu", "T4").stdout
    assert "  Host     256.00 MiB of pinned memory (PyTorch rounds each request up to a" in shown.splitlines()


def test_a_length_nobody_knows_is_the_greatest_and_said_so(programs: Programs) -> None:
    source = """
        import torch
        values = torch.randn(1 << 14, 1 << 10, device="cuda")
        kept = values[values > 0]
        print(tuple(kept.shape))
        """
    done = plan(programs, source, "--memory", "448MiB", "--json", "--no-options")
    assert (done.code, done.json()["fits"]) == (3, None), done.stderr
    assert done.stderr.splitlines()[0] == f"({1 << 24},)"
    assert any("greatest possible at train.py:4 (boolean index)" in caveat for caveat in done.json()["caveats"])


def test_what_fits_only_beside_a_small_context_is_too_close_to_call(programs: Programs) -> None:
    source = """
        import torch
        kept = torch.zeros(4 << 30, dtype=torch.uint8, device="cuda")
        """
    # Of a T4, whose context holds 100 to 210 MiB.
    words = ("--capability", "7.5", "--no-options")
    rooms = (99, 100, 209, 210)
    done = {room: plan(programs, source, "--memory", f"{4096 + room}MiB", *words) for room in rooms}
    assert [(room, done[room].code) for room in rooms] == [(99, 1), (100, 3), (209, 3), (210, 0)]
    assert done[100].stdout.splitlines()[:3] == [
        "too close to call on the 4.10GiB (4.10 GiB): 4.10 to 4.21 GiB at its peak",
        "  Why      it is too close: a CUDA context with its libraries holds 100.00 MiB",
        "           to 210.00 MiB of such a card, and only with the least of that it fits",
    ]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import torch\ntorch.zeros(1, device='cuda:1')", "it asks for a second GPU"),
        ("print('nothing')", "the script used no GPU"),
        ("import torch\ntorch.zeros(1, device='cuda')\nraise ValueError('by itself')", "ValueError: by itself"),
        (
            "try:\n    import no_such_thing\nexcept ImportError as error:\n"
            "    raise ModuleNotFoundError(\"Could not import module 'Model'.\") from error",
            "No module named 'no_such_thing'",
        ),
        ("import urllib.error\nraise urllib.error.URLError('unreachable')", "it needs the network"),
        ("import sys\nsys.exit(4)", "exit code 4"),
    ],
)
def test_what_comes_to_no_answer_says_why(programs: Programs, source: str, why: str) -> None:
    done = plan(programs, source, "--gpu", "T4", "--json")
    assert done.code == 3, done.stderr
    assert why in done.json()["why_not"]
    assert done.json()["fits"] is None and done.json()["peak_reserved"] is None


def test_a_script_that_fails_shows_its_own_traceback(programs: Programs) -> None:
    source = "import torch\nmodel = torch.nn.Linear(4, 4).cuda()\nmodel(torch.ones(2, 3, device='cuda'))\n"
    alone = programs.alone(source)
    done = plan(programs, source, "--gpu", "T4")
    lines = [line for line in done.stderr.splitlines() if line.startswith("  File")]
    assert lines == [line for line in alone.stderr.splitlines() if line.startswith("  File")]
    assert "_plan" not in done.stderr and "_recorder" not in done.stderr


def test_gradient_checkpointing_is_tried_where_a_model_offers_it(programs: Programs) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed here")
    source = """
        import torch, transformers
        config = transformers.GPT2Config(n_layer=4)
        model = transformers.GPT2LMHeadModel(config).cuda().train()
        optimizer = torch.optim.AdamW(model.parameters())
        for step in range(9):
            ids = torch.randint(0, 50000, (16, 512), device="cuda")
            model(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """
    done = plan(programs, source, "--gpu", "L4", "--options", "--json")
    assert done.code == 0, done.stderr
    changes = {option["change"] for option in done.json()["options"]}
    assert {"bf16 autocast", "gradient checkpointing"} <= changes


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--gpu", "T5", "train.py"], "oomph: no card `T5` is known. Write one of P100,"),
        (["--gpu", "T4", "missing.py"], "oomph: missing.py: not found"),
        (["--gpu", "T4", "--set", "nothing:1", "train.py"], "oomph: PyTorch has no allocator setting `nothing`"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_one_line(programs: Programs, words: list[str], line: str) -> None:
    programs.write(TRAIN)
    done = subprocess.run([programs.oomph, "plan", *words], cwd=programs.folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(line) and done.stderr.count("\n") == 1


def test_a_function_is_planned_from_python(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    import oomph

    (programs.folder / "steps_of_mine.py").write_text(
        "import torch\ndef train():\n    torch.zeros(1 << 28, dtype=torch.uint8, device='cuda')\n"
    )
    monkeypatch.syspath_prepend(str(programs.folder))
    monkeypatch.chdir(programs.folder)
    monkeypatch.setenv("OOMPH_PHANTOM_LIB", programs.phantom)
    from steps_of_mine import train  # type: ignore[import-not-found]

    planned = oomph.plan(train, gpu="T4")
    assert (planned.fits, planned.peak_reserved, planned.gpu) == (True, 1 << 28, "T4")
    assert str(planned) == "fits on the T4 (14.57 GiB): 356.00 to 466.00 MiB at its peak"
    with pytest.raises(oomph.OomphError, match="at the top of a module"):
        oomph.plan(lambda: None, gpu="T4")
    with pytest.raises(oomph.OomphError, match="no card `T5`"):
        oomph.plan(train, gpu="T5")


def test_two_plans_say_the_same(programs: Programs) -> None:
    first, second = (plan(programs, TRAIN, "--gpu", "A10G", "--json") for _ in range(2))
    assert first.stdout == second.stdout


def test_the_package_is_found_without_a_variable(programs: Programs) -> None:
    script = programs.write("import torch\ntorch.zeros(1, device='cuda')\n")
    environment = {**programs.environment(None)}
    environment.pop("OOMPH_PHANTOM_LIB", None)
    beside = pathlib.Path(programs.oomph).resolve().parent
    if not (beside / "liboomph_phantom.so").exists() and not list(beside.parent.glob("lib/*/site-packages/oomph/*.so")):
        pytest.skip("the command is not installed here")
    words = [programs.oomph, "plan", "--python", sys.executable, "--gpu", "T4", script.name]
    done = subprocess.run(words, cwd=programs.folder, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "fits on the T4 (14.57 GiB): 102.00 to 212.00 MiB at its peak")
    assert os.path.exists(programs.folder / ".oomph" / "last" / "main.pickle")


def test_what_a_script_leaves_running_ends_with_the_plan(programs: Programs) -> None:
    source = """
        import os, subprocess, sys, torch
        words = [sys.executable, "-c", "import time; time.sleep(600)"]
        for session in (False, True):
            print("left", subprocess.Popen(words, start_new_session=session).pid, flush=True)
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1 << 20, device="cuda"))])
        while True:
            optimizer.param_groups[0]["params"][0].sum().backward()
            optimizer.step()
        """
    done = plan(programs, source, "--gpu", "T4", "--no-options")
    assert done.code == 0, done
    pids = [int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("left")]
    assert len(pids) == 2
    assert [pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists() and not _is_zombie(pid)] == []


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended, and only its parent has not asked."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
