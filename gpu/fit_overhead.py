"""What `oomph.fit` costs a step that fits, on a real GPU, by turns in one process.

    python3 gpu/fit_overhead.py [--cases gpt2,resnet,medium,small] [--seconds S] [--steps N] [--device cpu] [--raw FILE]

Every round runs a block of steps of a plain loop and a block of the same loop with `oomph.fit`, in alternating order. A
step is forward, backward, clipping and the optimizer's step. Blocks are short and rounds are many, since a machine's pace
changes within seconds. A ratio is that of the medians of blocks; `again` is the ratio of the plain blocks of even rounds to
those of odd ones: what two equal things differ by here. Prints one line of JSON for each case. With --raw FILE the seconds
of every block are kept.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python"))

import torch
from torch import nn

import oomph

# No step may cost more than this beside a plain one.
BOUND = 1.01

LEAST_ROUNDS = 8


class Block(nn.Module):
    """A layer of a transformer, as GPT-2 has it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.attend(self.first(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.project(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed(self.second(x))


class Gpt(nn.Module):
    """A language model of 12 layers, or fewer."""

    def __init__(self, width: int, layers: int, words: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, width // 64) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        places = torch.arange(words.shape[1], device=words.device)
        return self.head(self.norm(self.blocks(self.words(words) + self.places(places))))


def gpt2(device: str, small: bool) -> tuple[nn.Module, tuple[Any, ...], Callable[..., Any]]:
    width, layers, words, length, batch = (64, 2, 200, 32, 4) if small else (768, 12, 50_257, 512, 8)
    model = Gpt(width, layers, words, length).to(device)
    text = torch.randint(0, words, (batch, length), device=device)

    def loss(text: torch.Tensor) -> torch.Tensor:
        scores = model(text)[:, :-1]
        return nn.functional.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())

    return model, (text,), loss


def resnet(device: str, small: bool) -> tuple[nn.Module, tuple[Any, ...], Callable[..., Any]]:
    import torchvision

    model = (torchvision.models.resnet18 if small else torchvision.models.resnet50)().to(device)
    size, batch = (32, 4) if small else (224, 64)
    images, labels = torch.randn(batch, 3, size, size, device=device), torch.randint(0, 1000, (batch,), device=device)

    def loss(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(model(images), labels)

    return model, (images, labels), loss


def small(device: str, small: bool) -> tuple[nn.Module, tuple[Any, ...], Callable[..., Any]]:
    """A step of about 10 ms on one core of a CPU."""
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
    x, y = torch.randn(512, 256, device=device), torch.randint(0, 10, (512,), device=device)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(model(x), y)

    return model, (x, y), loss


def medium(device: str, small: bool) -> tuple[nn.Module, tuple[Any, ...], Callable[..., Any]]:
    """A language model of four narrow layers: many short kernels, as in short steps of large models."""
    model = Gpt(256, 2 if small else 4, 1000, 128).to(device)
    text = torch.randint(0, 1000, (16, 128), device=device)

    def loss(text: torch.Tensor) -> torch.Tensor:
        scores = model(text)[:, :-1]
        return nn.functional.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())

    return model, (text,), loss


CASES = {"gpt2": gpt2, "resnet": resnet, "medium": medium, "small": small}


def measure(name: str, device: str, seconds: float, steps: int, accept: bool) -> dict[str, Any]:
    torch.manual_seed(0)
    model, batch, loss = CASES[name](device, device == "cpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    options = {"accept": "batch statistics"} if accept else {}
    fit = oomph.fit(loss, model=model, optimizer=optimizer, **options)
    # The plain loop must not have the hooks of the other one.
    hooks = {hook: dict(getattr(optimizer, hook)) for hook in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")}
    fit(*batch)
    attached = {hook: dict(getattr(optimizer, hook)) for hook in hooks}

    # On the CPU the time of this process, for others may run there; on a GPU the time until it is done.
    clock = time.process_time if device == "cpu" else time.perf_counter

    def block(with_oomph: bool) -> float:
        for hook in hooks:
            found = getattr(optimizer, hook)
            found.clear()
            found.update((attached if with_oomph else hooks)[hook])
        if device != "cpu":
            torch.cuda.synchronize()
        began = clock()
        for _ in range(steps):
            optimizer.zero_grad()
            if with_oomph:
                fit(*batch)
            else:
                loss(*batch).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        if device != "cpu":
            torch.cuda.synchronize()
        return clock() - began

    for with_oomph in (False, True, False, True):
        block(with_oomph)
    plain, fitted = [], []
    began = time.monotonic()
    for number in itertools.count():
        if number >= LEAST_ROUNDS and time.monotonic() - began > seconds:
            break
        for with_oomph in (False, True) if number % 2 else (True, False):
            (fitted if with_oomph else plain).append(block(with_oomph))
    return {
        "case": name + (" with batch statistics" if accept else ""),
        "device": torch.cuda.get_device_name() if device != "cpu" else "cpu",
        "step_ms": round(1000 * statistics.median(plain) / steps, 3),
        "ratio": round(statistics.median(fitted) / statistics.median(plain), 4),
        "again": round(statistics.median(plain[::2]) / statistics.median(plain[1::2]), 4),
        "bound": BOUND,
        "rounds": len(plain),
        "parts": fit.used,
        "seconds": {"plain": plain, "fit": fitted},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default="gpt2,resnet,medium,small")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each case")
    parser.add_argument("--steps", type=int, default=4, help="in each block")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--raw", type=pathlib.Path)
    options = parser.parse_args()
    if options.device == "cpu":
        torch.set_num_threads(1)
    kept = []
    for name in options.cases.split(","):
        for accept in (False, True) if name == "resnet" else (False,):
            found = measure(name, options.device, options.seconds, options.steps, accept)
            kept.append(dict(found))
            del found["seconds"]
            print(json.dumps(found), flush=True)
    if options.raw is not None:
        options.raw.write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
