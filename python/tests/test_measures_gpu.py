"""Measures on a real GPU: copies beside the computation bring back what went, whatever overlaps."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

# 24 layers whose activations are 32 MiB each and whose state is 32 MiB each: many times what may be on the card.
SCRIPT = """
    import hashlib, json, sys, torch
    from oomph._measures import Measures
    measures = Measures(json.loads(sys.argv[1]))
    measures.at_torch(torch)
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    blocks = [torch.nn.Sequential(torch.nn.Linear(2048, 2048), torch.nn.GELU()) for _ in range(24)]
    model = torch.nn.Sequential(*blocks).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(8):
        loss = model(torch.randn(4096, 2048, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    found = hashlib.sha256()
    for name, value in model.state_dict().items():
        found.update(value.cpu().numpy().tobytes())
    for state in optimizer.state_dict()["state"].values():
        found.update(state["exp_avg"].cpu().numpy().tobytes())
    print(json.dumps([found.hexdigest(), measures.notes()["remarks"]]))
"""


@pytest.mark.gpu
@pytest.mark.parametrize(
    "asked",
    [
        '{"host_state": true}',
        '{"host_activations": [8, 8]}',
        '{"host_activations": [4, 8]}',
        '{"host_state": true, "host_activations": [8, 8], "checkpointing": [12, 24]}',
    ],
)
def test_what_was_on_the_host_is_the_same_bit_for_bit(run_python: Callable[..., str], asked: str) -> None:
    import json

    source = "import os\nos.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'\n" + textwrap.dedent(SCRIPT)
    plain, moved = (json.loads(run_python(source, words)) for words in ("{}", asked))
    assert moved == plain and moved[1] == []
