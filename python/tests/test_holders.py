"""Who holds the tensors that are alive: on the CPU, where the same is looked for."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import pytest

from oomph import _holders
from oomph._holders import Holder

torch = pytest.importorskip("torch", reason="torch is not installed here")


class Trainer:
    def __init__(self) -> None:
        self.cache = {"keys": [torch.zeros(300, 1000)]}


def test_holders_are_named_by_what_leads_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Linear(256, 256))
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for _ in range(3):
        loss = model(torch.randn(1024, 256)).pow(2)
        losses.append(loss)
        loss.sum().backward()
        optimizer.step()
    del loss
    main = sys.modules["__main__"]
    for name, value in {"model": model, "optimizer": optimizer, "losses": losses, "trainer": Trainer()}.items():
        monkeypatch.setattr(main, name, value, raising=False)
    del model, optimizer, losses, value
    local = torch.zeros(200, 1000)
    held = _holders.find(torch, "cpu", patience=60)
    found = {holder.path: holder for holder in held.holders}
    assert not held.cut
    assert found["model"] == Holder(0, 526336, 4, "model", "Sequential, 131.58 k parameters")
    assert found["model, gradients"] == Holder(0, 526336, 4, "model, gradients", "4 tensors")
    what = "AdamW of 12 tensors, the largest 256×256 float32"
    assert found["optimizer"] == Holder(0, 1052688, 12, "optimizer", what)
    what = "list of 3 tensors, the largest 1024×256 float32, 3 with their graphs"
    assert found["losses"] == Holder(0, 3145728, 3, "losses", what)
    what = "dict of 1 tensor, the largest 300×1000 float32"
    assert found["trainer.cache"] == Holder(0, 1200000, 1, "trainer.cache", what)
    mine = next(holder for path, holder in found.items() if path.startswith("local in test_holders_are_named"))
    assert (mine.bytes, mine.what) == (800000, "200×1000 float32")
    assert local is not None


def test_tensors_without_a_name_are_told_by_what_keeps_them() -> None:
    gc.collect()
    gc.disable()
    lost: list[Any] = [torch.zeros(600, 1000)]
    lost.append(lost)
    del lost
    held = _holders.find(torch, "cpu", patience=60)
    gc.enable()
    found = {holder.what: holder.bytes for holder in held.holders if holder.path == "no variable"}
    assert found["600×1000 float32, in a list that nothing leads to"] == 2400000


def test_what_a_graph_keeps_is_charged_to_who_keeps_the_graph() -> None:
    weight = torch.ones(700, 1000, requires_grad=True)
    first = (weight * torch.full((700, 1000), 2.0)).tanh().sum()
    # They share what led to the first.
    losses = [first, first + 1, (weight * torch.full((700, 1000), 3.0)).sum()]
    del first
    held = _holders.find(torch, "cpu", patience=60)
    found = {holder.path.partition(" in ")[0]: holder for holder in held.holders}
    assert found["weight"].bytes == 2800000
    # Two factors, the result of tanh, and the numbers.
    assert found["losses"].bytes == 3 * 2800000 + 3 * 4
    what = "list of 3 tensors, the largest scalar float32, 3 with their graphs of 8.01 MiB"
    assert found["losses"].what == what
    assert not [holder for holder in held.holders if holder.what.startswith("700×1000") and holder.path == "no variable"]
    losses[0].backward()
    found = {holder.path.partition(" in ")[0]: holder for holder in _holders.find(torch, "cpu", patience=60).holders}
    assert found["losses"].bytes == 2800000 + 3 * 4


def test_to_size_a_graph_runs_no_code_of_the_program() -> None:
    unpacked: list[int] = []

    def unpack(packed: Any) -> Any:
        unpacked.append(1)
        return packed

    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.clone(), unpack):
        loss = torch.ones(500, 1000, requires_grad=True).exp().sum()
    held = _holders.find(torch, "cpu", patience=60)
    mine = next(holder for holder in held.holders if holder.path.startswith("loss in "))
    assert (mine.bytes, unpacked) == (2000004, [])
    assert mine.what == "scalar float32, with its graph of 1.91 MiB" and loss is not None


def test_a_view_and_its_base_count_once() -> None:
    base = torch.zeros(1000, 777)
    view = base[10:20]
    held = _holders.find(torch, "cpu", patience=60)
    assert [holder.bytes for holder in held.holders].count(3108000) == 1
    assert view is not None


def test_looking_for_holders_holds_nothing() -> None:
    stop, ready = threading.Event(), threading.Event()
    watched: list[Any] = []

    def other() -> None:
        held = torch.zeros(123, 1000)
        watched.append(weakref.ref(held))
        ready.set()
        stop.wait()
        del held
        watched.append(watched[0]() is None)

    thread = threading.Thread(target=other)
    thread.start()
    ready.wait()
    held = _holders.find(torch, "cpu", patience=60)
    stop.set()
    thread.join()
    assert any(holder.path.startswith("held in other(), test_holders.py:") for holder in held.holders)
    assert watched[1] is True
