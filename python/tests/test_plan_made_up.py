"""What a plan makes up where only a GPU would know: picks, counts, chances, and which way a line goes that asks."""

from __future__ import annotations

import pytest
from programs import Programs
from test_plan import plan
from test_plan_truth import printed

pytest.importorskip("torch", reason="torch is not installed here")

# Sixteen tokens, two of four experts each: eight tokens an expert. A tensor that needs a gradient is known to nobody.
ROUTED = """
import torch
import torch.nn.functional as F
from torch import nn

x = torch.randn(16, 8, device="cuda")
gate, expert = nn.Linear(8, 4).cuda(), nn.Linear(8, 8).cuda()
weights, index = gate(x).softmax(-1).topk(2, -1)
"""


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            """
for number in range(4):
    mask = (index == number).any(-1)
    if mask.any():
        out = torch.zeros_like(x)
        out[mask] += expert(x[mask])
        print(tuple(x[mask].shape), out.requires_grad)
""",
            ["(8, 8) True"] * 4,
        ),
        (
            """
mask = F.one_hot(index, 4).permute(2, 1, 0)
for number in range(4):
    slot, token = torch.where(mask[number])
    print(tuple(token.shape), tuple(weights[token, slot].shape))
""",
            ["(8,) (8,)"] * 4,
        ),
        (
            """
flat = index.flatten()
order = flat.argsort()
counts = torch.bincount(flat, minlength=4).tolist()
print(counts, [tuple(part.shape) for part in x[order // 2].split(counts)])
""",
            ["[8, 8, 8, 8] [(8, 8), (8, 8), (8, 8), (8, 8)]"],
        ),
        (
            """
best = gate(x).argmax(1), gate(x).max(1).indices, gate(x).T.topk(1, 0).indices[0]
print([[int((one == number).sum()) for number in range(4)] for one in best])
""",
            ["[[4, 4, 4, 4], [4, 4, 4, 4], [4, 4, 4, 4]]"],
        ),
    ],
)
def test_experts_get_equal_shares(source: str, says: list[str], programs: Programs) -> None:
    assert printed(programs, ROUTED + source) == says


# A selection of a cloud of points whose values nobody knows.
POINTS = """
import torch

x = torch.randn(5000, device="cuda") * torch.nn.Linear(1, 1).cuda().weight.squeeze()
keep = x > 0
"""


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            """
best = torch.zeros_like(keep)
best[x.topk(100).indices] = True
print(tuple(x[best].shape), tuple(x[best & keep].shape))
best &= keep
print(tuple(x[best].shape), int(best.sum()), tuple(x[keep].shape))
""",
            ["(100,) (100,)", "(100,) 100 (5000,)"],
        ),
        # As many as there are, where it is not known any more how many.
        (
            """
hit = torch.zeros_like(keep)
hit[(x * 10).long().clamp(min=0)] = True
print(tuple(x[hit].shape), int(hit.sum()))
""",
            ["(5000,) 5000"],
        ),
        # A place in each group, though nobody knows which points are kept.
        (
            """
group = torch.arange(5, device="cuda").view(-1, 1).expand_as(x.view(5, 1000)).reshape(-1)
print(torch.unique(group[torch.where(keep)[0]]).tolist())
""",
            ["[0, 1, 2, 3, 4]"],
        ),
        (
            """
sizes = torch.bincount(x.long().clamp(0, 6), minlength=7)
print(sizes.tolist(), torch.repeat_interleave(torch.arange(7, device="cuda"), sizes).numel())
""",
            ["[715, 715, 714, 714, 714, 714, 714] 5000"],
        ),
    ],
    ids=["best", "unknown", "groups", "bins"],
)
def test_points_that_are_selected_are_counted_alike(source: str, says: list[str], programs: Programs) -> None:
    assert printed(programs, POINTS + source) == says


def test_boxes_that_may_all_stay_do(programs: Programs) -> None:
    pytest.importorskip("torchvision", reason="torchvision is not installed here")
    source = """
import torch, torchvision
boxes, scores = torch.rand(500, 4, device="cuda"), torch.rand(500, device="cuda")
labels = torch.zeros(500, dtype=torch.long, device="cuda")
with torch.no_grad():
    print(len(torchvision.ops.nms(boxes, scores, 0.5)), len(torchvision.ops.batched_nms(boxes, scores, labels, 0.5)[:100]))
"""
    assert printed(programs, source) == ["500 100"]


def test_what_comes_after_a_guess_is_said_to_be_one(programs: Programs) -> None:
    source = ROUTED + "for number in range(4):\n    y = x[(index == number).any(-1)]\n"
    done = plan(programs, source, "--gpu", "T4", "--json", "--no-options")
    assert done.json()["caveats"] == ["values that only a GPU computes were invented at train.py:10 (boolean index)"]


def test_words_of_a_text_are_not_picked_in_turn(programs: Programs) -> None:
    # The first in turn would be the end of the text.
    source = """
        import torch
        import transformers
        config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=600, bos_token_id=0, eos_token_id=0)
        model = transformers.GPT2LMHeadModel(config).cuda()
        words = torch.randint(1, 600, (2, 5), device="cuda")
        for beams, drawn in ((1, False), (1, True), (3, False)):
            text = model.generate(words, max_new_tokens=7, do_sample=drawn, num_beams=beams, pad_token_id=0)
            print(tuple(text.shape))
        """
    pytest.importorskip("transformers", reason="transformers is not installed here")
    lines = [line for line in printed(programs, source) if not line.startswith("[transformers]")]
    assert lines == ["(2, 12)"] * 3


UNKNOWN = """
import torch
from torch import nn

w = nn.Linear(8, 1).cuda()
x = torch.randn(4096, 8, device="cuda")
y = w(x)[:, 0]
mask = y > 0
"""


@pytest.mark.parametrize(
    ("source", "says"),
    [
        # What selects all is counted so, and writes as many rows as it has read.
        (
            """
out = torch.zeros_like(x)
out[mask] = w(x[mask]).expand(-1, 8)
rows = torch.zeros_like(x)
rows[mask, 0] += w(x[mask])[:, 0]
put = torch.zeros_like(x).index_put((mask,), w(x[mask]).expand(-1, 8))
print(out.requires_grad, rows.requires_grad, put.requires_grad, tuple(x[mask].shape))
print(mask.sum().item(), int(mask.count_nonzero()), mask.view(4, 1024).sum(1).tolist())
""",
            ["True True True (4096, 8)", "4096 4096 [1024, 1024, 1024, 1024]"],
        ),
        # What works is done, whoever asks; what gives up is not.
        (
            """
def checked(values):
    if (values < 0).any():
        raise ValueError("below zero")
    if not (values < 1).any():
        return "nothing"
    if values.max() > 7:
        print("a warning")
        return "large"
    assert values.min() > 3, "too small"
    return "checked"

def is_invalid(norm):
    return bool((~torch.isfinite(norm) | (norm < 0)).any())

print(checked(y), is_invalid(y.sum()))
if mask.any():
    print("any")
for number in range(2):
    if not mask.any():
        continue
    if mask.sum() == 0:
        continue
    print("some", number)
if y[0] > y[1]:
    print("more")
elif y[0] < y[1]:
    print("less")
if y[0] == y[1]:
    print("the same")
if y[0] > 1 and y[1] == 1:
    print("the same, and more")
if (y[0] > y[1]).item() and not (y[2] < 0).item():
    print("columns")
if y.sum() > 0 and not y.min() > 0:
    print("mixed")
""",
            ["checked False", "any", "some 0", "some 1", "less", "columns", "mixed"],
        ),
        # Loops are gone through once.
        (
            """
rounds = 0
while y[0] > 1:
    rounds += 1
while not (y[1] > 1):
    rounds += 10
while True:
    rounds += 100
    if y.abs().max() < 1e-6:
        break
for number in range(3):
    rounds += 1000
    if y.abs().max() < 1e-6:
        break
print(rounds)
""",
            ["3211"],
        ),
        # Labels of known rows, whichever rows those are.
        (
            """
batch = torch.arange(4096, device="cuda") // 64
kept = batch[y.sort(descending=True).indices[:3000]]
print(tuple(kept.shape), int(batch.max()), int(kept.max()) > 0)
durations = y.exp().round().clamp(min=1, max=20).long()
print(tuple(torch.repeat_interleave(x, durations, dim=0).shape))
""",
            ["(3000,) 63 True", "(4096, 8)"],
        ),
        # Chances add up where the program itself draws by them.
        (
            """
import random
import numpy as np
chances = nn.Linear(8, 4).cuda()(x[0]).softmax(-1)
print(np.random.choice(4, p=chances.detach().cpu().numpy()) in range(4), sum(chances.tolist()))
print(torch.multinomial(chances.cpu(), 1).shape, random.choices(range(4), weights=chances.tolist())[0] in range(4))
print(tuple(x[0, :4][chances > 0.3].shape))
""",
            ["True 1.0", "torch.Size([1]) True", "(4,)"],
        ),
        (
            """
first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
first.record()
last.record()
print(32 / first.elapsed_time(last))
traced = torch.jit.trace(w, x)
factor, info = torch.linalg.cholesky_ex((w(x[:64]) @ w(x[:64]).T).detach())
assert not torch.any(info)
print(tuple(traced(x).shape), tuple(torch.linalg.solve(x[:8], x[8:16]).shape))
""",
            ["32.0", "(4096, 1) (8, 8)"],
        ),
    ],
)
def test_what_nobody_knows_leads_on(source: str, says: list[str], programs: Programs) -> None:
    assert printed(programs, UNKNOWN + source) == says


def test_a_script_that_handles_the_error_itself_is_told(programs: Programs) -> None:
    source = """
        import torch
        size = 64 << 30
        while True:
            try:
                held = torch.zeros(size, dtype=torch.uint8, device="cuda")
                break
            except torch.cuda.OutOfMemoryError:
                size //= 2
        """
    done = plan(programs, source, "--gpu", "T4", "--json", "--no-options")
    assert (done.code, done.json()["caveats"]) == (
        1,
        [
            "the script handles out-of-memory errors itself: where this plan says that it does not fit, it may go on with less "
            "on the card"
        ],
    )
