"""A large model whose weights stand still, with small matrices beside them that are trained (LoRA)."""

import argparse

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--accumulate", type=int, default=1)
args = parser.parse_args()


class Adapted(nn.Module):
    def __init__(self, linear, rank=16):
        super().__init__()
        self.linear = linear
        self.down = nn.Linear(linear.in_features, rank, bias=False)
        self.up = nn.Linear(rank, linear.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.linear(x) + self.up(self.down(x))


config = LlamaConfig(
    hidden_size=1024, intermediate_size=2816, num_hidden_layers=12, num_attention_heads=16, num_key_value_heads=8,
    vocab_size=32000,
)  # fmt: skip
model = LlamaForCausalLM(config).bfloat16().requires_grad_(False)
for layer in model.model.layers:
    for name in ("q_proj", "v_proj"):
        setattr(layer.self_attn, name, Adapted(getattr(layer.self_attn, name)).bfloat16())
model.cuda().train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for step in range(6):
    for _ in range(args.accumulate):
        tokens = torch.randint(0, 32000, (args.batch, 512), device="cuda")
        (model(input_ids=tokens, labels=tokens).loss / args.accumulate).backward()
    optimizer.step()
    optimizer.zero_grad()
