"""A compiled job or a generate loop, for planned.py.

    python3 compiled_job.py compile --model gpt2 --mode reduce-overhead --dtype bf16 --batch 8
    python3 compiled_job.py generate --model llama --cache static

Everything is written as people write it; nothing here knows whether there is a GPU.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("what", choices=["compile", "generate"])
parser.add_argument("--model", default="gpt2")
parser.add_argument("--mode", default="default")
parser.add_argument("--dtype", choices=["fp32", "bf16", "amp"], default="fp32")
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--length", type=int, default=256)
parser.add_argument("--new", type=int, default=64, help="tokens that are generated")
parser.add_argument("--cache", choices=["dynamic", "static", "none", "hand"], default="dynamic")
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--infer", action="store_true")
parser.add_argument("--vary-length", action="store_true", help="each step has another length")
parser.add_argument("--checkpointing", action="store_true")
args = parser.parse_args()

TEXT = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", dict(hidden_size=1024, intermediate_size=2816, num_hidden_layers=12,
              num_attention_heads=16, num_key_value_heads=8, vocab_size=32000)),
    "qwen": ("Qwen2ForCausalLM", "Qwen2Config", dict(hidden_size=896, intermediate_size=4864, num_hidden_layers=12,
             num_attention_heads=14, num_key_value_heads=2, vocab_size=32000, tie_word_embeddings=True)),
    "bert": ("BertForMaskedLM", "BertConfig", {}),
    "opt": ("OPTForCausalLM", "OPTConfig", {}),
}


class Mlp(nn.Module):
    """Plain layers; `broken` prints in the middle, which no compiler can take over; `kernel` calls a kernel of its own."""

    def __init__(self, broken: bool = False, kernel: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2048, 2048) for _ in range(8))
        self.head = nn.Linear(2048, 1000)
        self.broken, self.kernel = broken, kernel

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, layer in enumerate(self.layers):
            x = layer(x)
            x = SquaredRelu.apply(x) if self.kernel else nn.functional.gelu(x)
            if self.broken and number == 3:
                print("half", len(x))
        return self.head(x)


class Unet(nn.Module):
    """Down and up again, with the way down kept."""

    def __init__(self, width: int = 64, levels: int = 4) -> None:
        super().__init__()
        sizes = [3, *(width << level for level in range(levels))]
        self.down = nn.ModuleList(self.block(a, b) for a, b in zip(sizes, sizes[1:]))
        self.up = nn.ModuleList(self.block(a + b, b) for a, b in zip(sizes[:1:-1], sizes[-2:0:-1]))
        self.head = nn.Conv2d(width, 3, 1)

    @staticmethod
    def block(a: int, b: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(8, b), nn.SiLU(), nn.Conv2d(b, b, 3, padding=1), nn.SiLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = nn.functional.avg_pool2d(x, 2)
        x = kept.pop()
        for block in self.up:
            x = block(torch.cat([nn.functional.interpolate(x, scale_factor=2.0), kept.pop()], 1))
        return self.head(x)


class SquaredRelu(torch.autograd.Function):
    """By a kernel of the user's own, forward and backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        from compiled_kernel import squared_relu

        ctx.save_for_backward(x)
        return squared_relu(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad * 2 * torch.relu(x)


def built(**changes: Any) -> tuple[nn.Module, str]:
    """The model, and what it takes: text, images or rows."""
    if args.model in TEXT:
        import transformers

        model, config, options = TEXT[args.model]
        return getattr(transformers, model)(getattr(transformers, config)(**options, **changes)), "text"
    if args.model.startswith("mlp"):
        return Mlp(broken=args.model == "mlp-break", kernel=args.model == "mlp-kernel"), "rows"
    if args.model == "unet":
        return Unet(), "pictures"
    import torchvision

    return torchvision.models.get_model(args.model, weights=None), "images"


def inputs(takes: str, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(step)
    length = args.length - 32 * step if args.vary_length else args.length
    if takes == "text":
        ids = torch.randint(5, 30000, (args.batch, length), generator=random).cuda()
        return ids, ids
    if takes == "rows":
        x = torch.randn(args.batch, 2048, generator=random)
    else:
        x = torch.randn(args.batch, 3, args.length, args.length, generator=random)
    x = x.cuda().to(torch.bfloat16) if args.dtype == "bf16" else x.cuda()
    return x, x if takes == "pictures" else torch.randint(0, 1000, (args.batch,), generator=random).cuda()


def loss_of(model: Any, takes: str, step: int) -> torch.Tensor:
    x, y = inputs(takes, step)
    with torch.autocast("cuda", torch.bfloat16, enabled=args.dtype == "amp"):
        if takes == "text":
            loss: torch.Tensor = model(input_ids=x, labels=y, use_cache=False).loss
        elif takes == "pictures":
            loss = nn.functional.mse_loss(model(x), y)
        else:
            loss = nn.functional.cross_entropy(model(x), y)
    return loss


def train(model: nn.Module, called: Any, takes: str) -> None:
    kept = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(kept, lr=1e-4)
    for step in range(args.steps):
        loss_of(called, takes, step).backward()
        optimizer.step()
        optimizer.zero_grad()


def placed(model: nn.Module) -> nn.Module:
    model = model.to(torch.bfloat16) if args.dtype == "bf16" else model
    return model.cuda()


def compile_job() -> None:
    model, takes = built()
    model = placed(model)
    if args.checkpointing:
        model.gradient_checkpointing_enable()
    model = model.eval() if args.infer else model.train()
    mode = None if args.mode == "default" else args.mode
    called = torch.compile(model, mode=mode, dynamic=True if args.vary_length else None)
    if not args.infer:
        return train(model, called, takes)
    with torch.no_grad():
        for step in range(args.steps):
            loss_of(called, takes, step)


def generate_job() -> None:
    torch.manual_seed(0)
    model, _ = built(max_position_embeddings=2048)
    model = placed(model).eval()
    ids = torch.randint(5, 30000, (args.batch, args.length)).cuda()
    if args.cache == "hand":
        return by_hand(model, ids)
    words: dict[str, Any] = {"max_new_tokens": args.new, "min_new_tokens": args.new, "do_sample": False, "pad_token_id": 0}
    words |= {"static": {"cache_implementation": "static"}, "none": {"use_cache": False}}.get(args.cache, {})
    model.generate(ids, attention_mask=torch.ones_like(ids), **words)


@torch.no_grad()
def by_hand(model: Any, ids: torch.Tensor) -> None:
    """A greedy loop as tutorials write it."""
    past = None
    for _ in range(args.new):
        out = model(input_ids=ids if past is None else ids[:, -1:], past_key_values=past, use_cache=True)
        past = out.past_key_values
        ids = torch.cat([ids, out.logits[:, -1].argmax(-1, keepdim=True)], 1)


{"compile": compile_job, "generate": generate_job}[args.what]()
