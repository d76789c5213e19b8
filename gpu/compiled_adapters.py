"""Adapters as their papers describe them, without the packages that have them, for compiled_job.py."""

from __future__ import annotations

import torch
from torch import nn


class Lora(nn.Module):
    """A frozen layer and a product of two small matrices beside it."""

    def __init__(self, base: nn.Module, ins: int, outs: int, rank: int = 16, dropout: float = 0.05) -> None:
        super().__init__()
        self.base = base
        self.a, self.b = nn.Linear(ins, rank, bias=False), nn.Linear(rank, outs, bias=False)
        self.drop, self.scale = nn.Dropout(dropout), 2.0
        nn.init.zeros_(self.b.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.b(self.a(self.drop(x))) * self.scale


class Dora(Lora):
    """The direction is adapted by LoRA, the length on its own."""

    def __init__(self, base: nn.Linear, ins: int, outs: int) -> None:
        super().__init__(base, ins, outs)
        self.length = nn.Parameter(base.weight.detach().norm(dim=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.base.weight + self.b.weight @ self.a.weight * self.scale
        norm = weight.detach().norm(dim=1)
        return nn.functional.linear(x, weight * (self.length / norm).unsqueeze(1), self.base.bias)


class Ia3(nn.Module):
    """What a layer gives, scaled."""

    def __init__(self, base: nn.Module, ins: int, outs: int) -> None:
        super().__init__()
        self.base, self.scale = base, nn.Parameter(torch.ones(outs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) * self.scale


class Bottleneck(nn.Module):
    """A small network behind a layer."""

    def __init__(self, base: nn.Module, ins: int, outs: int, width: int = 64) -> None:
        super().__init__()
        self.base = base
        self.net = nn.Sequential(nn.Linear(outs, width), nn.GELU(), nn.Linear(width, outs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.base(x)
        return y + self.net(y)


class Int8(nn.Module):
    """A frozen layer with weights of 8 bits, a scale a row."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        scale = base.weight.detach().abs().amax(1, keepdim=True) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("weight", (base.weight.detach() / scale).round().to(torch.int8))
        self.bias = base.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, self.weight.to(x.dtype) * self.scale.to(x.dtype), self.bias)


class Int4(nn.Module):
    """A frozen layer with weights of 4 bits, two a byte, a scale for each 64, by a table of 16 values."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.shape = base.weight.shape
        flat = base.weight.detach().reshape(-1, 64)
        scale = flat.abs().amax(1, keepdim=True)
        codes = ((flat / scale + 1) * 7.5).round().to(torch.uint8).reshape(-1)
        self.register_buffer("scale", scale)
        self.register_buffer("weight", codes[::2] << 4 | codes[1::2])
        self.register_buffer("table", torch.linspace(-1, 1, 16, device=scale.device, dtype=scale.dtype))
        self.bias = base.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        codes = torch.stack([self.weight >> 4, self.weight & 15], 1).reshape(-1, 64)
        weight = (self.table[codes.int()] * self.scale).reshape(self.shape).to(x.dtype)
        return nn.functional.linear(x, weight, self.bias)


class Prompt(nn.Module):
    """Learned vectors that are added to the first tokens."""

    def __init__(self, base: nn.Embedding, count: int = 20) -> None:
        super().__init__()
        self.base, self.prompt = base, nn.Parameter(torch.zeros(count, base.embedding_dim))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        embedded = self.base(ids)
        prompt = self.prompt.to(embedded.dtype).expand(len(ids), -1, -1)
        return torch.cat([prompt, embedded[:, self.prompt.shape[0] :]], 1)


def _linears(model: nn.Module) -> list[tuple[nn.Module, str, nn.Linear]]:
    """The layers of attention and of the networks between; not the head."""
    found = [(parent, name, child) for parent in model.modules() for name, child in parent.named_children()]
    return [(p, name, child) for p, name, child in found if isinstance(child, nn.Linear) and name.endswith("_proj")]


def adapted(model: nn.Module, kind: str) -> nn.Module:
    """The model with its weights frozen and the adapter put in. Kinds: lora, dora, ia3, bottleneck, qlora8, qlora4, prompt."""
    model.requires_grad_(False)
    if kind == "prompt":
        for parent in list(model.modules()):
            for name, child in list(parent.named_children()):
                if name == "embed_tokens":
                    setattr(parent, name, Prompt(child))
        return model
    for parent, name, child in _linears(model):
        ins, outs = child.in_features, child.out_features
        if kind == "bottleneck" and name not in ("o_proj", "down_proj"):
            continue
        made: nn.Module
        if kind.startswith("qlora"):
            made = Lora(Int8(child) if kind == "qlora8" else Int4(child), ins, outs)
        else:
            made = {"lora": Lora, "dora": Dora, "ia3": Ia3, "bottleneck": Bottleneck}[kind](child, ins, outs)
        setattr(parent, name, made)
    return model
