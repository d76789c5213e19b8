"""The state of optimizers on the host: every step is what it was, bit for bit, and is one step to the program."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from oomph._measures import host, host_state
from programs import Programs


@pytest.fixture
def on_host(torch: ModuleType) -> Iterator[host_state.States]:
    """The state of parameters on the CPU on "the host", in groups of at most 2 KiB."""
    optimizer = torch.optim.Optimizer
    classes = [getattr(torch.optim, name) for name in host_state.EACH_BY_ITSELF]
    had = [(made, vars(made)["step"]) for made in classes if "step" in vars(made)]
    init, process = optimizer.__init__, vars(optimizer)["_process_value_according_to_param_policy"]
    # Hooks are put around the step of a class once; here they are, for steps that are replaced for a while.
    for made, step in had:
        made.step = getattr(step, "__wrapped__", step) if getattr(step, "hooked", False) else step
    yield host_state.States(torch, {}, [], on_host=True, device="cpu", smallest=256, group=2048)
    for made, step in had:
        made.step = step
    optimizer.__init__, optimizer._process_value_according_to_param_policy = init, process


def parameters(torch: ModuleType) -> list[Any]:
    torch.manual_seed(0)
    shapes = [(16, 16), (8,), (32, 4), (40, 8), (1,), (16, 2)]
    made = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    channels = torch.randn(2, 4, 4, 4).to(memory_format=torch.channels_last)
    return [*made, torch.nn.Parameter(channels)]


def gradients(torch: ModuleType, made: list[Any], step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for at, parameter in enumerate(made):
        parameter.grad = torch.randn(parameter.shape, generator=generator)
        # Some have none in some steps.
        if at == 3 and step == 1:
            parameter.grad = None


def trained(torch: ModuleType, name: str, options: dict[str, Any], steps: range = range(4)) -> tuple[list[Any], Any]:
    """Parameters after steps, in two groups with a schedule, and the optimizer."""
    made = parameters(torch)
    if name == "Muon":
        made = [parameter for parameter in made if parameter.dim() == 2]
    groups = [{"params": made[:2], "lr": 0.02}, {"params": made[2:]}]
    optimizer = getattr(torch.optim, name)(groups, lr=0.01, **options)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for step in steps:
        gradients(torch, made, step)
        optimizer.step()
        schedule.step()
    return made, optimizer


OPTIMIZERS = [
    ("SGD", {"momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "foreach": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "foreach": True}),
    ("AdamW", {}),
    ("AdamW", {"fused": True}),
    ("AdamW", {"foreach": False}),
    ("Adadelta", {}),
    ("Adafactor", {}),
    ("Adagrad", {}),
    ("Adamax", {}),
    ("ASGD", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("RMSprop", {"momentum": 0.5, "centered": True}),
    ("Rprop", {}),
    ("Muon", {}),
]


@pytest.fixture(scope="module")
def plain(torch: ModuleType) -> list[tuple[list[Any], Any]]:
    """What PyTorch computes itself."""
    return [trained(torch, name, options) for name, options in OPTIMIZERS]


@pytest.mark.parametrize("at", range(len(OPTIMIZERS)), ids=lambda at: "-".join([OPTIMIZERS[at][0], *OPTIMIZERS[at][1]]))
def test_each_step_is_the_same_bit_for_bit(
    torch: ModuleType, plain: list[tuple[list[Any], Any]], on_host: host_state.States, at: int
) -> None:
    name, options = OPTIMIZERS[at]
    made, optimizer = trained(torch, name, options)
    want, wanted = plain[at]
    assert all(torch.equal(one, other) for one, other in zip(made, want, strict=True))
    assert on_host.moved == (4 if name != "Adafactor" else 0), "Adafactor's state is small"
    one, other = optimizer.state_dict(), wanted.state_dict()
    assert one["param_groups"] == other["param_groups"]
    assert one["state"].keys() == other["state"].keys()
    for number in one["state"]:
        for key, value in other["state"][number].items():
            same = one["state"][number][key]
            assert torch.equal(same, value) if torch.is_tensor(value) else same == value, (number, key)
            if torch.is_tensor(value) and value.dim():
                assert same.stride() == value.stride()


def test_it_is_one_step_to_hooks_and_schedules(torch: ModuleType, on_host: host_state.States) -> None:
    made = parameters(torch)
    optimizer = torch.optim.Adam(made, lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    seen: list[str] = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))

    def closure() -> Any:
        seen.append("closure")
        gradients(torch, made, 0)
        return torch.tensor(3.0)

    assert optimizer.step(closure) == 3.0
    schedule.step()
    assert seen == ["before", "closure", "after"]
    assert [len(group["params"]) for group in optimizer.param_groups] == [len(made)]
    assert {float(state["step"]) for state in optimizer.state.values()} == {1.0}


def test_what_is_saved_is_loaded_by_both(torch: ModuleType, on_host: host_state.States, tmp_path: Any) -> None:
    want, _ = trained(torch, "AdamW", {}, range(6))
    made, optimizer = trained(torch, "AdamW", {}, range(3))
    torch.save([optimizer.state_dict(), made], tmp_path / "saved.pt")
    state, again = torch.load(tmp_path / "saved.pt", weights_only=False)
    for source in (state, copy.deepcopy(optimizer.state_dict())):
        parts = [torch.nn.Parameter(part.detach().clone()) for part in again]
        groups = [{"params": parts[:2]}, {"params": parts[2:]}]
        other = torch.optim.AdamW(groups)
        other.load_state_dict(source)
        schedule = torch.optim.lr_scheduler.StepLR(other, 2, last_epoch=2)
        schedule.base_lrs = [0.02, 0.01]
        for group, rate in zip(other.param_groups, (0.002, 0.001), strict=True):
            group["lr"] = rate
        for step in range(3, 6):
            gradients(torch, parts, step)
            other.step()
            schedule.step()
        assert all(torch.equal(one, two) for one, two in zip(parts, want, strict=True))
    copied = copy.deepcopy(optimizer)
    gradients(torch, [p for group in copied.param_groups for p in group["params"]], 3)
    copied.step()
    assert on_host.moved > 0


def test_a_scaler_of_gradients_skips_the_same_steps(torch: ModuleType, on_host: host_state.States) -> None:
    results = []
    for fused in (True, False):
        made = parameters(torch)
        optimizer = torch.optim.AdamW(made, lr=0.1, fused=fused)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for step in range(3):
            gradients(torch, made, step + 5)
            for parameter in made:
                parameter.grad *= scaler.scale(torch.tensor(1.0))
            if step == 1:
                made[0].grad[0, 0] = float("inf")
            scaler.step(optimizer)
            scaler.update()
        results.append([float(state["step"]) for state in optimizer.state.values()])
    assert results[0] == results[1] == [2.0] * 7


def test_other_optimizers_are_left_alone_and_named(torch: ModuleType, on_host: host_state.States) -> None:
    made = parameters(torch)
    optimizer = torch.optim.LBFGS(made, lr=0.1)

    def closure() -> Any:
        gradients(torch, made, 0)
        return torch.tensor(1.0)

    optimizer.step(closure)
    assert on_host.moved == 0
    assert on_host.remarks == ["not changed: LBFGS is not known to update each parameter by itself"]


def test_memory_of_the_host_is_cut_without_gaps(torch: ModuleType) -> None:
    arena = host.Arena(torch, "cpu")
    one, two = arena.like(torch.empty(100)), arena.like(torch.empty(4, 3, 5, 5).to(memory_format=torch.channels_last))
    assert (two.data_ptr() - one.data_ptr(), two.stride()) == (512, (75, 1, 15, 3))
    large = arena.like(torch.empty((64 << 20) // 4 + 1))
    assert large.untyped_storage().nbytes() == 128 << 20
    after = arena.like(torch.empty(5))
    assert after.untyped_storage().data_ptr() == large.untyped_storage().data_ptr()
    assert arena.like(torch.empty(5, dtype=torch.bfloat16)).untyped_storage().nbytes() == 64 << 20


def test_how_much_state_there_is_is_noted(run_warm_python: Callable[..., str], torch: ModuleType) -> None:
    source = """
        import torch
        from oomph._measures import host_state
        found = {}
        host_state.States(torch, found, [], on_host=False, device="cpu", smallest=256)
        made = [torch.nn.Parameter(torch.randn(16, 16)), torch.nn.Parameter(torch.randn(4))]
        optimizer = torch.optim.Adam(made)
        for _ in range(2):
            for parameter in made:
                parameter.grad = torch.ones_like(parameter)
            optimizer.step()
        print(found)
    """
    assert run_warm_python(textwrap.dedent(source)).strip() == "{'state': 2048}"


# 16 parameters of 16 MiB: with gradients and Adam's state 1 GiB.
SCRIPT = """
    import torch
    from oomph._measures import Measures
    measures = Measures({asked})
    measures.at_torch(torch)
    made = [torch.nn.Parameter(torch.zeros(1 << 22, device="cuda")) for _ in range(16)]
    optimizer = torch.optim.AdamW(made, fused={fused})
    scaler = torch.amp.GradScaler("cuda", enabled={scaled})
    mib = 1 << 20
    for step in range(4):
        scaler.scale(sum((part * 1).sum() for part in made)).backward()
        scaler.step(optimizer)
        scaler.update()
        if step < 3:
            optimizer.zero_grad(set_to_none=False)
    print(round(torch.cuda.memory_allocated() / mib), round(torch.cuda.max_memory_allocated() / mib))
    print({{value.device.type for state in optimizer.state.values() for value in state.values() if value.dim()}})
    print(measures.notes()["remarks"], measures.found.get("state", 0) // mib)
"""


@pytest.mark.parametrize(
    ("asked", "fused", "scaled", "want"),
    [
        # Parameters, gradients, state; and the backward pass of a parameter.
        ("{}", "True", "False", "1024 1040\\n{'cuda'}\\n[] 512"),
        # A group of 32 MiB comes, one is updated, one goes.
        ("{'host_state': True}", "True", "False", "512 608\\n{'cpu'}\\n[] 0"),
        ("{'host_state': True}", "True", "True", "512 608\\n{'cpu'}\\n[] 0"),
    ],
)
def test_the_card_has_three_groups_of_state(programs: Programs, asked: str, fused: str, scaled: str, want: str) -> None:
    source = textwrap.dedent(SCRIPT).format(asked=asked, fused=fused, scaled=scaled)
    done = programs.end(programs.start([programs.warm_python, "-c", source]))
    assert (done.stdout.strip(), done.code) == (want.replace("\\n", "\n"), 0), done.stderr
