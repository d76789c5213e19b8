"""A program under `oomph plan` goes the same way as on a real card: random numbers, lengths, choices of PyTorch's own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from programs import Programs
from test_plan import plan

pytest.importorskip("torch", reason="torch is not installed here")

# Everything below draws from PyTorch's generator on the host, large enough that a plan does not fill it.
DRAWS = """
import hashlib, torch, warnings
from torch import nn

warnings.simplefilter("ignore")

def state():
    return hashlib.sha1(torch.get_rng_state().numpy().tobytes()).hexdigest()[:12]

torch.manual_seed(3)
linear = nn.Linear(1000, 1003)
print(state(), torch.rand(1).item())
embedding = nn.Embedding(30001, 77)
print(torch.randperm(5).tolist(), state())
weight = torch.empty(1000, 1001)
for fill in (nn.init.trunc_normal_, nn.init.xavier_normal_, nn.init.kaiming_uniform_, nn.init.ones_):
    fill(weight)
    print(state())
for kind in (torch.bfloat16, torch.double):
    narrow = torch.empty(999, 1001, dtype=kind)
    narrow.normal_()
    print(state())
    narrow.uniform_()
    print(state())
for name, words in (("bernoulli_", (0.5,)), ("exponential_", ()), ("geometric_", (0.3,)), ("cauchy_", ()), ("random_", ())):
    getattr(weight, name)(*words)
    print(name, state())
large = torch.randn(7, 1001, 1001), torch.rand(9, 1001, 1001)
print(state())
own = torch.Generator().manual_seed(4)
weight.normal_(generator=own)
print(torch.randint(0, 100, (3,), generator=own).tolist(), state())
nn.Transformer(256, 8), nn.LSTM(650, 650, 2), nn.Conv2d(300, 1000, 3)
print(state())
weight.normal_()
torch.manual_seed(5)
print(torch.rand(2).tolist())
kept = torch.get_rng_state()
weight.normal_()
torch.set_rng_state(kept)
loader = torch.utils.data.DataLoader(range(20), batch_size=5, shuffle=True)
print([batch.tolist() for batch in loader])
"""


def test_what_is_drawn_after_unfilled_weights_is_what_a_real_run_draws(programs: Programs) -> None:
    programs.write(DRAWS)
    real = subprocess.run([sys.executable, "train.py"], cwd=programs.folder, capture_output=True, text=True, timeout=120)
    planned = plan(programs, DRAWS + "\ntorch.zeros(1, device='cuda')\n", "--gpu", "T4", "--json")
    assert (real.returncode, planned.code) == (0, 0), real.stderr + planned.stderr
    assert planned.stderr.splitlines() == real.stdout.splitlines()


def test_a_billion_numbers_are_passed_over_at_once(phantom: str) -> None:
    code = """
        import ctypes, time, torch
        skip = ctypes.CDLL(None).oomph_phantom_skip
        skip.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64]
        drawn = torch.Generator().manual_seed(1)
        state = drawn.get_state()
        part = torch.empty(1 << 26)
        for _ in range(16):
            part.uniform_(generator=drawn)
        began = time.process_time()
        print(skip(state.data_ptr(), state.numel(), 1 << 30), time.process_time() - began < 5)
        print(bool((state == drawn.get_state()).all()), skip(state.data_ptr(), 100, 1))
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "LD_PRELOAD": phantom},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 True\nTrue 1\n", "")


def printed(programs: Programs, source: str, card: str = "T4") -> list[str]:
    done = plan(programs, source, "--gpu", card, "--json", "--no-options")
    assert done.code == 0, done.stderr + done.stdout
    return done.stderr.splitlines()


def test_distributions_take_samples_to_be_sound(programs: Programs) -> None:
    source = """
        import torch
        chances = torch.distributions.Categorical(logits=torch.randn(256, 6, device="cuda") @ torch.randn(6, 6, device="cuda"))
        action = chances.sample()
        normal = torch.distributions.Normal(torch.randn(4, device="cuda").exp(), torch.ones(4, device="cuda"))
        print(tuple(chances.log_prob(action).shape), tuple(normal.log_prob(normal.sample()).shape))
        """
    assert printed(programs, source) == ["(256,) (4,)"]


def test_a_mask_beside_another_index_has_one_length(programs: Programs) -> None:
    source = """
        import torch
        scores = torch.randn(500, 20, device="cuda")
        labels = torch.tensor([3, 5, 2]).cuda()
        matched = scores.argmax(1) % 3
        mask = matched >= 0
        target = torch.zeros_like(scores)
        target[mask, labels[matched[mask]]] = 1.0
        target[mask] = 2.0
        print(tuple(target.shape))
        """
    assert printed(programs, source) == ["(500, 20)"]


def test_lengths_that_a_loss_reads_back_are_true(programs: Programs) -> None:
    source = """
        import torch
        import torch.nn.functional as F
        labels = torch.tensor([[1, 2, 3, -100], [4, 5, -100, -100]]).cuda()
        mask = labels >= 0
        scores = torch.randn(50, 2, 20, device="cuda", requires_grad=True).log_softmax(-1)
        lengths = torch.tensor([50, 40]).cuda()
        loss = F.ctc_loss(scores, labels.masked_select(mask), lengths, mask.sum(-1), zero_infinity=True)
        loss.backward()
        print(tuple(loss.shape), tuple(labels.masked_select(mask).shape))
        """
    assert printed(programs, source) == ["() (5,)"]


def test_sparse_tensors_keep_their_entries(programs: Programs) -> None:
    source = """
        import torch, warnings
        warnings.simplefilter("ignore")
        places = torch.tensor([[0, 1, 1, 2], [2, 0, 0, 1]])
        known = torch.sparse_coo_tensor(places.cuda(), torch.ones(4, device="cuda"), (3, 3)).coalesce()
        rows = (torch.randn(1000, device="cuda") @ torch.randn(1000, 700, device="cuda")).argsort()[None]
        unknown = torch.sparse_coo_tensor(rows, torch.ones(700, 16, device="cuda"), (1000, 16)).coalesce()
        print(known._nnz(), unknown._nnz())
        table = torch.nn.Embedding(1000, 16, sparse=True).cuda()
        optimizer = torch.optim.SparseAdam(table.parameters())
        table(torch.arange(64, device="cuda") % 50).sum().backward()
        optimizer.step()
        print(table.weight.grad.coalesce()._nnz())
        """
    # Of the table's 64 rows that were looked up 50 differ, which nobody knows: those are made where nobody sees it.
    assert printed(programs, source) == ["3 700", "64"]


ENCODER = """
import torch
from torch import nn
layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first={norm_first})
model = nn.TransformerEncoder(layer, 2).cuda().eval()
calls = []
for name in ("_transformer_encoder_layer_fwd", "_nested_tensor_from_mask"):
    def watched(*args, original=getattr(torch, name), name=name, **words):
        calls.append(name)
        return original(*args, **words)
    setattr(torch, name, watched)
lengths = torch.tensor([9, 4, 10, 1])
mask = torch.arange(10)[None] >= lengths[:, None]
with torch.no_grad():
    y = model(torch.randn(4, 10, 64).cuda(), src_key_padding_mask=mask.cuda())
print(sorted(calls), tuple(y.shape))
"""


@pytest.mark.parametrize(
    ("norm_first", "calls"),
    [(True, ["_transformer_encoder_layer_fwd"] * 2), (False, ["_nested_tensor_from_mask", *["_transformer_encoder_layer_fwd"] * 2])],
)
def test_pytorch_takes_its_fast_way_through_an_encoder(programs: Programs, norm_first: bool, calls: list[str]) -> None:
    lines = printed(programs, ENCODER.format(norm_first=norm_first))
    assert lines[-1] == f"{calls} (4, 10, 64)"


def test_functions_that_are_compiled_while_a_program_runs(phantom: str, tmp_path: pathlib.Path) -> None:
    code = """
        import torch
        x = torch.rand(1000, device="cuda")
        x.erfinv_()
        print(tuple(torch.special.bessel_j0(x).shape), tuple(torch.arange(4, device="cuda").log().shape))
        """
    environment = {**os.environ, "LD_PRELOAD": phantom, "PYTORCH_KERNEL_CACHE_PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "(1000,) (4,)\n", "")
