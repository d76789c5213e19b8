"""`oomph.fit` on a GPU that is not there: PyTorch's own allocator refuses, and what then fits is counted."""

from __future__ import annotations

import json
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed here")

from programs import Programs

# The activations of a batch take most of the memory; weights, gradients and the optimizer's state take little.
SCRIPT = """
import json, sys
import torch
import oomph

class Scale(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(size))
    def forward(self, x):
        return torch.tanh(x * self.weight)

model = torch.nn.Sequential(*(Scale(1 << 20) for _ in range(6))).to("cuda")
optimizer = torch.optim.Adam(model.parameters())
torch.cuda.set_per_process_memory_fraction(float(sys.argv[1]))
fit = oomph.fit(lambda x: model(x).sum(), model=model, optimizer=optimizer, count="sum")
used = []
for number in range(int(sys.argv[2])):
    x = torch.ones(64, 1 << 20, device="cuda")
    for _ in range(2):
        fit(x)
        used.append((fit.used, fit.attempts))
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    del x
print(json.dumps({
    "used": used, "peak": torch.cuda.max_memory_reserved(), "retries": torch.cuda.memory_stats()["num_ooms"],
    "limit": int(float(sys.argv[1]) * torch.cuda.get_device_properties(0).total_memory),
    "states": len(optimizer.state),
}))
"""


def test_a_step_is_cut_until_it_fits_and_parts_grow_as_far_as_there_is_room(programs: Programs) -> None:
    script = programs.write(SCRIPT)
    done = programs.end(programs.start([sys.executable, script.name, "0.075", "40"]))
    assert done.code == 0, done.stderr
    found = json.loads(done.stdout)
    # The first step fails whole, and later ones are cut beforehand.
    assert found["used"][0][1] > 1 and found["used"][1][1] == 1
    assert found["peak"] <= found["limit"] and found["states"] == 6
    # Four parts are tried first; three fit as well.
    assert (found["used"][0][0], found["used"][-1][0]) == (4, 3)
    failed = sum(attempts > 1 for _, attempts in found["used"])
    assert failed <= 5, found["used"]


def test_with_room_for_all_nothing_is_cut(programs: Programs) -> None:
    script = programs.write(SCRIPT)
    done = programs.end(programs.start([sys.executable, script.name, "1.0", "4"]))
    assert done.code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["used"] == [[1, 1]] * 8 and found["retries"] == 0


# What a step draws on the card before it fails is drawn again.
DRAWS = """
import json
import torch
import oomph

torch.cuda.init()
generator = torch.cuda.default_generators[0]
weight = torch.ones(1 << 20, device="cuda", requires_grad=True)
torch.cuda.set_per_process_memory_fraction(0.075)
places = []

def step(x):
    places.append((generator.initial_seed(), generator.get_offset()))
    return torch.tanh(torch.nn.functional.dropout(x * weight)).exp().sigmoid().sum()

fit = oomph.fit(step, count="sum")
torch.cuda.manual_seed(7)
torch.rand(5, device="cuda")
fit(torch.ones(64, 1 << 20, device="cuda"))
after = generator.initial_seed(), generator.get_offset()
print(json.dumps({"places": places, "used": fit.used, "attempts": fit.attempts, "after": after}))
"""


def test_the_card_draws_the_same_again(programs: Programs) -> None:
    script = programs.write(DRAWS)
    done = programs.end(programs.start([sys.executable, script.name]))
    assert done.code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["attempts"] > 1 and found["used"] > 1
    # The last parts have drawn one after the other, from where the step began.
    first, *others = found["places"]
    again = others[-found["used"] :]
    assert first[0] == 7 and first[1] > 0
    assert again[0] == first and [place for _, place in again] == sorted({place for _, place in again})
    assert found["after"][1] > again[-1][1]
