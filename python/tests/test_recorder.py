"""What `oomph run` records of real programs, on PyTorch's own allocator over a GPU that is not there."""

from __future__ import annotations

import os
import pathlib
import pickletools
import signal
import subprocess
import sys
import time

import pytest
from programs import GIB, MODEL, Programs

TRAIN = (
    MODEL
    + """
import sys
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    model(torch.ones(1 << 20, device="cuda")).sum().backward()
    optimizer.step()
print("trained")
"""
)

LEAK = """
import torch
kept = []
while True:
    kept.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
"""


def kinds(sidecar: dict) -> list[str]:
    return [kind for _, kind, _ in sidecar["marks"]]


def test_an_error_nobody_catches_is_explained_under_its_traceback(programs: Programs) -> None:
    ended = programs.run(LEAK, "--limit", "4GiB", is_warm=False)
    assert ended.code == 1
    assert ended.stdout == ""
    trace, _, verdict = ended.stderr.partition("torch.OutOfMemoryError: CUDA out of memory.")
    assert "Traceback (most recent call last)" in trace
    assert "out of memory on GPU 0: 1.00 GiB more was asked for" in verdict
    assert "train.py:5 <module>" in verdict
    assert "capacity" in verdict
    sidecar = ended.recording()["oomph"]
    assert sidecar["devices"][0]["limit"] == 4 * GIB
    assert sidecar["exception"]["uncaught"] and sidecar["exception"]["oom"]
    assert [oom["requested"] for oom in sidecar["ooms"]] == [GIB]
    assert sidecar["ooms"][0]["frames"][0]["line"] == 5


def test_nothing_changes_where_memory_suffices(programs: Programs) -> None:
    alone = programs.alone(TRAIN, "3")
    ended = programs.run(TRAIN, args=["3"])
    assert (ended.code, ended.stdout) == (alone.code, alone.stdout) == (0, "trained\n")
    assert ended.stderr.count("\n") == alone.stderr.count("\n") + 1, "one quiet line"


def test_a_recording_replays_exactly(programs: Programs) -> None:
    ended = programs.run(TRAIN, args=["20"])
    result = programs.json("replay", ended.run() / "main.pickle")
    assert result["fidelity"]["exact"] is True


def test_steps_and_phases_are_marked(programs: Programs) -> None:
    source = TRAIN.replace('print("trained")', "model.eval(); model[0].train(); model(torch.ones(1 << 20, device='cuda'))")
    sidecar = programs.run(source, args=["2"]).recording()["oomph"]
    step = ["backward", "backward_end", "optimizer", "optimizer_end", "step"]
    assert kinds(sidecar) == ["step", *step, *step, "eval"]
    assert [n for _, kind, n in sidecar["marks"] if kind == "step"] == [0, 1, 2]
    times = [time for time, _, _ in sidecar["marks"]]
    assert times == sorted(times)


def test_stacks_are_sampled_and_the_history_is_whole(programs: Programs) -> None:
    recording = programs.run(TRAIN, args=["20"]).recording()
    spans = recording["oomph"]["stacks"]
    begun = [t for t, kind, n in recording["oomph"]["marks"] if kind == "step" and n in (0, 4, 8, 9, 16, 17)]
    assert len(spans) == 3
    for (start, end), first, after in zip(spans, begun[::2], begun[1::2]):
        assert abs(start - first) < 50_000 and abs(end - after) < 50_000
    allocs = [event for event in recording["device_traces"][0] if event["action"] == "alloc"]
    inside = [any(start <= e["time_us"] <= end for start, end in spans) for e in allocs]
    with_frames = [bool(event.get("frames")) for event in allocs]
    # Autograd's own thread has no Python stack.
    assert all(within or not frames for within, frames in zip(inside, with_frames))
    assert sum(with_frames) > 20 and inside.count(False) > 20


def test_memory_is_told_apart_to_the_byte(programs: Programs) -> None:
    source = (
        MODEL
        + """
import os, signal
for step in range(2):
    optimizer.zero_grad()
    model(torch.ones(1 << 20, device="cuda")).sum().backward()
    optimizer.step()
state = [v for s in optimizer.state.values() for v in s.values() if torch.is_tensor(v) and v.is_cuda]
size = lambda tensors: sum(t.untyped_storage().nbytes() for t in tensors)
print(size(model.parameters()), size(p.grad for p in model.parameters()), size(state), size(model.buffers()))
"""
    )
    ended = programs.run(source)
    recording = ended.recording()
    written = recording["oomph"]["written_us"]
    sums = {"weights": 0, "gradients": 0, "optimizer": 0, "buffers": 0}
    blocks = {
        block["address"]: block["requested_size"]
        for segment in recording["segments"]
        for block in segment["blocks"]
        if block["state"] == "active_allocated"
    }
    for when, device, address, size, name in recording["oomph"]["classes"]:
        if when >= written:
            assert blocks[address] == size and device == 0
            sums[name] += size
    assert " ".join(map(str, sums.values())) == ended.stdout.strip()


def test_a_job_that_checkpoints_activations_records_and_runs(programs: Programs) -> None:
    source = (
        MODEL
        + """
from torch.utils.checkpoint import checkpoint
for step in range(3):
    x = torch.ones(1 << 20, device="cuda", requires_grad=True)
    checkpoint(model, x, use_reentrant=False).sum().backward()
    optimizer.step(); optimizer.zero_grad()
print("done")
"""
    )
    ended = programs.run(source)
    assert (ended.code, ended.stdout) == (0, "done\n")
    result = programs.json("replay", ended.run() / "main.pickle")
    assert result["fidelity"]["exact"] is True


def test_an_error_that_is_caught_is_kept_beside_the_rest(programs: Programs) -> None:
    source = """
    import torch
    held = []
    try:
        while True:
            held.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        held.clear()
    print(torch.ones(1, device="cuda").shape)
    """
    ended = programs.run(source, "--limit", "4GiB")
    assert (ended.code, ended.stdout) == (0, "torch.Size([1])\n")
    assert ended.names() == ["main.oom.pickle", "main.pickle"]
    assert "oomph explain" in ended.stderr and "Cause" not in ended.stderr
    assert ended.recording("main.oom")["oomph"]["why"] == "oom"
    result = programs.json("explain", ended.run() / "main.oom.pickle")
    assert [oom["size"] for oom in result["ooms"]] == [GIB]


def test_a_program_that_catches_the_error_and_gives_up_gets_the_verdict(programs: Programs) -> None:
    source = """
    import torch
    held = []
    try:
        while True:
            held.append(torch.empty(1 << 28, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError as error:
        print("giving up")
    """
    ended = programs.run(source, "--limit", "4GiB")
    assert (ended.code, ended.stdout) == (0, "giving up\n")
    assert ended.names() == ["main.pickle"]
    assert "out of memory on GPU 0: 256.00 MiB more was asked for" in ended.stderr
    assert "train.py:6 <module>" in ended.stderr


def test_peaks_survive_a_program_that_sets_them_back(programs: Programs) -> None:
    source = """
    import torch
    held = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    del held
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    print(torch.cuda.max_memory_reserved())
    """
    ended = programs.run(source)
    assert ended.stdout == "0\n"
    assert ended.recording()["oomph"]["devices"][0]["peak_reserved"] == GIB
    assert "1.00 GiB" in ended.stderr


WAIT = (
    MODEL
    + """
import sys, time
print("ready", flush=True)
for _ in range(600):
    time.sleep(0.1)
"""
)


def started(programs: Programs, source: str) -> tuple[subprocess.Popen[str], int]:
    """The program under `oomph run` once it says that it is ready, and the process that Python runs in."""
    script = programs.write(source)
    process = programs.start([programs.oomph, "run", "--python", sys.executable, script.name])
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    # The last is the program; before it comes the process that tells what was sent to the group.
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return process, int(children[-1])


BUSY = (
    MODEL
    + """
print("ready", flush=True)
sum(range(10**12))
"""
)


def test_sigterm_ends_a_process_that_is_in_c_code(programs: Programs) -> None:
    process, child = started(programs, BUSY)
    process.send_signal(signal.SIGTERM)
    ended = programs.end(process)
    assert ended.code == 143
    assert ended.recording()["oomph"]["why"] == "start", "what was written when it began"


def test_dump_writes_a_recording_of_a_program_that_goes_on(programs: Programs) -> None:
    process, child = started(programs, WAIT)
    dumped = subprocess.run([programs.oomph, "dump", str(child)], capture_output=True, text=True, timeout=60)
    assert dumped.returncode == 0, dumped.stderr
    assert process.poll() is None
    path = pathlib.Path(dumped.stdout.strip())
    assert (programs.folder / path).resolve().name == "main.pickle"
    process.terminate()
    assert programs.end(process).code == 143


RANKS = """
import os, sys, time, torch
import torch.distributed as dist
dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/store", rank=int(os.environ["RANK"]), world_size=2)
t = torch.ones(1); dist.all_reduce(t); assert t.item() == 2
open(f"ready{os.environ['RANK']}", "w").close()
time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_each_rank_has_its_recording_whoever_is_killed(programs: Programs, how: signal.Signals) -> None:
    script = programs.write(RANKS, "ranks.py")
    launcher = f"""
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, {script.name!r}], env={{**os.environ, "RANK": str(r), "WORLD_SIZE": "2"}}) for r in range(2)]
print(ranks[1].pid, flush=True)
codes = [rank.wait() for rank in ranks]
sys.exit(0)
"""
    programs.write(launcher, "launch.py")
    process = programs.start([programs.oomph, "run", "--python", sys.executable, "launch.py"], card=None)
    assert process.stdout is not None
    victim = int(process.stdout.readline())
    deadline = time.monotonic() + 60
    while not all((programs.folder / f"ready{rank}").exists() for rank in range(2)):
        assert time.monotonic() < deadline, "the ranks did not meet"
        time.sleep(0.05)
    os.kill(victim, how)
    other = [pid for pid in children(process.pid) if pid != victim and "ranks.py" in command(pid)]
    for pid in other:
        os.kill(pid, signal.SIGTERM)
    ended = programs.end(process)
    assert ended.names() == ["main.pickle", "rank0.pickle", "rank1.pickle"]
    for rank in range(2):
        sidecar = ended.recording(f"rank{rank}")["oomph"]
        assert (sidecar["rank"], sidecar["world_size"], sidecar["framework"]) == (rank, 2, "torch")
        assert sidecar["why"] == "start"


def children(pid: int) -> list[int]:
    """All processes below one."""
    found = []
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += [int(child), *children(int(child))]
    return found


def command(pid: int) -> str:
    return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def test_a_kill_in_the_middle_of_writing_leaves_the_recording_before(programs: Programs) -> None:
    source = """
    import sys
    from oomph._recorder import files
    value = {"oomph": {"number": 0}, "filler": [list(range(1000)) for _ in range(3000)]}
    for number in range(1_000_000):
        value["oomph"]["number"] = number
        files.write_pickle("recording.pickle", value)
        if number == 0:
            print("ready", flush=True)
    """
    import pickle

    script = programs.write(source)
    for delay in range(8):
        process = programs.start([sys.executable, script.name], card=None)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.013 * delay)
        process.kill()
        process.communicate()
        with open(programs.folder / "recording.pickle", "rb") as file:
            found = pickle.load(file)
        assert len(found["filler"]) == 3000 and len(found["filler"][-1]) == 1000


def test_workers_of_a_data_loader_leave_no_recordings(programs: Programs) -> None:
    source = (
        MODEL
        + """
from torch.utils.data import DataLoader
if __name__ == "__main__":
    for method, workers in (("fork", 2), ("spawn", 1)):
        loader = DataLoader(list(range(8)), num_workers=workers, multiprocessing_context=method)
        print(sum(int(x) for x in loader))
"""
    )
    source = source.replace('.to("cuda")', "")
    ended = programs.run(source, card=None)
    assert (ended.code, ended.stdout) == (0, "28\n28\n"), ended.stderr
    assert ended.names() == ["main.pickle"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_that_use_cuda_have_recordings_of_their_own(programs: Programs, method: str) -> None:
    source = f"""
    import multiprocessing, torch
    def work(number):
        held = torch.ones(1 << 20, device="cuda")
    if __name__ == "__main__":
        context = multiprocessing.get_context({method!r})
        workers = [context.Process(target=work, args=(n,)) for n in range(2)]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
        print([worker.exitcode for worker in workers])
    """
    ended = programs.run(source)
    assert (ended.code, ended.stdout) == (0, "[0, 0]\n"), ended.stderr
    names = ended.names()
    assert names[0] == "main.pickle" and len(names) == 3 and all(name.startswith("pid") for name in names[1:])
    for name in names[1:]:
        recording = ended.recording(name.removesuffix(".pickle"))
        assert any(event["size"] == 4 << 20 for event in recording["device_traces"][0])


def test_a_program_that_records_for_itself_keeps_its_options(programs: Programs) -> None:
    source = TRAIN.replace(
        "import sys", "import sys; torch.cuda.memory._record_memory_history('all', context='all', stacks='all')"
    ).replace('print("trained")', "print(len([e for e in torch.cuda.memory._snapshot()['device_traces'][0] if e['action'] == 'alloc' and e['frames']]) > 100)")
    ended = programs.run(source, args=["20"])
    assert ended.stdout == "True\n"


def test_pytorchs_viewer_can_read_a_recording(programs: Programs) -> None:
    import torch.cuda._memory_viz as viewer

    ended = programs.run(TRAIN, args=["3"])
    recording = ended.recording()
    assert "Scale" in viewer.trace_plot(recording) or viewer.trace_plot(recording)
    assert viewer.trace(recording) and viewer.segsum(recording)
    # What the viewer's page can unpickle: plain values of protocol 4.
    known = {
        "PROTO", "FRAME", "EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "MARK", "MEMOIZE", "SHORT_BINUNICODE",
        "BINUNICODE", "SETITEMS", "SETITEM", "APPENDS", "APPEND", "BINGET", "LONG_BINGET", "BININT", "BININT1",
        "BININT2", "LONG1", "NEWTRUE", "NEWFALSE", "NONE", "BINFLOAT", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "STOP",
    }  # fmt: skip
    with open(ended.run() / "main.pickle", "rb") as file:
        used = {opcode.name for opcode, _, _ in pickletools.genops(file)}
    assert used <= known


def test_settings_that_this_pytorch_does_not_know_are_taken_back(programs: Programs) -> None:
    from oomph._recorder import environment

    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "roundup_power2_divisions:[256:1,>:2],invented:3"
    try:
        environment.drop_unknown_settings({"since": {"invented": [99, 1]}})
        assert os.environ["PYTORCH_CUDA_ALLOC_CONF"] == "roundup_power2_divisions:[256:1,>:2]"
    finally:
        del os.environ["PYTORCH_CUDA_ALLOC_CONF"]


def test_a_recorder_that_cannot_work_does_not_stop_the_program(programs: Programs) -> None:
    script = programs.write("print('fine')")
    folder = programs.folder / "run"
    folder.mkdir(mode=0o700)
    ended = programs.end(programs.start([sys.executable, script.name], card=None, OOMPH_RUN=str(folder)))
    assert (ended.code, ended.stdout) == (0, "fine\n")
    assert ended.stderr.startswith("oomph: the recorder could not start (FileNotFoundError: [Errno 2] No such file")
    assert ended.stderr.endswith("run.json'): the script runs without it\n") and ended.stderr.count("\n") == 1


def test_a_variable_that_has_outlived_its_run_says_nothing(programs: Programs) -> None:
    script = programs.write("print('fine')")
    nowhere = str(programs.folder / "nowhere")
    ended = programs.end(programs.start([sys.executable, script.name], card=None, OOMPH_RUN=nowhere))
    assert (ended.code, ended.stdout, ended.stderr) == (0, "fine\n", "")


@pytest.mark.parametrize("planted", ["pipe", "link", "open to all"])
def test_a_folder_that_others_could_have_filled_is_not_believed(programs: Programs, planted: str) -> None:
    script = programs.write("print('fine')")
    folder = programs.folder / "run"
    folder.mkdir(mode=0o700)
    if planted == "pipe":
        os.mkfifo(folder / "run.json")
    elif planted == "link":
        (programs.folder / "elsewhere.json").write_text("{}")
        (folder / "run.json").symlink_to(programs.folder / "elsewhere.json")
    else:
        (folder / "run.json").write_text("{}")
        folder.chmod(0o777)
    ended = programs.end(programs.start([sys.executable, script.name], card=None, OOMPH_RUN=str(folder)))
    assert (ended.code, ended.stdout) == (0, "fine\n")
    assert ended.stderr.startswith("oomph: ") and ended.stderr.count("\n") == 1
    assert len(list(folder.iterdir())) == 1, "nothing was written into it"


def test_the_text_of_jax_is_explained(programs: Programs) -> None:
    pytest.importorskip("jax", reason="jax is not installed")
    source = """
    import jax
    jax.numpy.ones(1)
    raise jax.errors.JaxRuntimeError(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.")
    """
    ended = programs.run(source, card=None)
    assert ended.code == 1
    sidecar = ended.recording()["oomph"]
    assert sidecar["framework"] == "jax" and sidecar["exception"]["oom"]
    assert "16.00 GiB" in ended.stderr


@pytest.mark.long
def test_the_text_of_tensorflow_is_explained(programs: Programs) -> None:
    pytest.importorskip("tensorflow", reason="tensorflow is not installed")
    source = """
    import tensorflow as tf
    tf.constant(1)
    raise tf.errors.ResourceExhaustedError(None, None,
        "OOM when allocating tensor with shape[4096,1024,1024] and type float on "
        "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:Mul]")
    """
    ended = programs.run(source, card=None, TF_CPP_MIN_LOG_LEVEL="3")
    assert ended.code == 1
    sidecar = ended.recording()["oomph"]
    assert sidecar["framework"] == "tensorflow" and sidecar["exception"]["oom"]
    assert "16.00 GiB" in ended.stderr


def test_a_program_that_first_looks_whether_torch_is_installed_is_recorded(programs: Programs) -> None:
    source = "import importlib.util\nassert importlib.util.find_spec('torch')\n" + LEAK
    ended = programs.run(source, "--limit", "4GiB", is_warm=False)
    assert ended.code == 1
    assert ended.recording()["oomph"]["devices"][0]["limit"] == 4 * GIB
    assert "capacity" in ended.stderr


def test_odd_models_and_optimizers_are_recorded_as_far_as_they_can_be_read(programs: Programs) -> None:
    odd = """
class Bare(torch.optim.Optimizer):
    def __init__(self):
        pass
class Other(torch.optim.SGD):
    def __init__(self, parameters):
        super().__init__(parameters, 0.1)
        self.param_groups.append({"lr": 0.1})
class Shy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError("do not look at me")
kept = [torch.nn.LazyLinear(4), Bare(), Other([torch.zeros(4, requires_grad=True)])]
model.register_buffer("shy", torch.ones(8, device="cuda").as_subclass(Shy))
"""
    ended = programs.run(MODEL + odd + LEAK, "--limit", "4GiB")
    assert "capacity" in ended.stderr
    assert [line for line in ended.stderr.splitlines() if line.startswith("oomph: ")] == []
    recording = ended.recording()["oomph"]
    assert {name for *_, name in recording["classes"]} == {"weights", "buffers"}
    assert recording["keepers"]["optimizers"]


def test_a_step_that_computes_inside_the_optimizer_is_marked_as_any_other(programs: Programs) -> None:
    ended = programs.run(
        MODEL
        + """
def closure():
    optimizer.zero_grad()
    loss = model(torch.ones(1 << 20, device="cuda")).sum()
    loss.backward()
    return loss
for step in range(2):
    optimizer.step(closure)
"""
    )
    assert ended.code == 0, ended.stderr
    step = ["backward", "backward_end", "optimizer", "optimizer_end", "step"]
    assert kinds(ended.recording()["oomph"]) == ["step", *step, *step]


def test_a_path_that_is_not_text_costs_the_events_alone(programs: Programs) -> None:
    script = programs.write('import torch\nkept = [torch.ones(1 << 28, device="cuda") for _ in range(40)]\n', "tr\udcfe.py")
    done = programs.end(programs.start([programs.oomph, "run", "--python", programs.warm_python, script.name]))
    assert done.code == 1
    assert "oomph: the allocator's events cannot be read (" in done.stderr
    assert done.names() == ["main.pickle"]
    # The verdict is that of the words.
    assert "Tried to allocate" in done.stderr and "\nout of memory" in done.stderr, done.stderr
