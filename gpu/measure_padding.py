"""Which matrix products of odd sizes torch.compile pads on this GPU: it times them, and the phantom cannot.

`python gpu/measure_padding.py > padding.jsonl` needs torch and a GPU. Each line is one product: its sizes, its type, and how
long it took as it is and padded, in ms.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from typing import Any

import torch
from torch._inductor.fx_passes import pad_mm

WORDS = (50257, 30522, 32100, 50265, 250002)
WIDTHS = (768, 1024, 2048, 4096)
TOKENS = (1024, 4096, 6144, 8192)
TYPES = (torch.bfloat16, torch.float16, torch.float32)

decide = pad_mm.is_padded_faster


def noted(key: str, ori_time: float, pad_time: float) -> bool:
    decided: bool = decide(key, ori_time, pad_time)
    print(json.dumps({"key": key, "plain": ori_time, "padded": pad_time, "is_padded": decided}), flush=True)
    return decided


pad_mm.is_padded_faster = noted
torch.backends.cuda.matmul.allow_tf32 = True
began = time.monotonic()
properties: Any = torch.cuda.get_device_properties(0)
print(json.dumps({"gpu": properties.name, "cache": properties.L2_cache_size, "torch": torch.__version__}), flush=True)
cases = list(itertools.product(TYPES, WORDS, WIDTHS, TOKENS))
for kind, words, width, tokens in sorted(cases, key=lambda case: hash((str(case[0]), *case[1:]))):
    if time.monotonic() - began > float(sys.argv[1] if len(sys.argv) > 1 else 100):
        break
    torch._dynamo.reset()
    layer = torch.nn.Linear(width, words, bias=False, device="cuda", dtype=kind)
    x = torch.randn(tokens, width, device="cuda", dtype=kind, requires_grad=True)
    torch.compile(lambda x: layer(x).float().logsumexp(1).sum(), dynamic=False)(x).backward()
