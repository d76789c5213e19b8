"""nanoGPT style training of a 124M GPT: fp16 GradScaler, gradient accumulation, cosine lr and estimate_loss."""

import math

import numpy as np
import torch
import torch.nn as nn
from torch.nn import functional as F

block_size, vocab_size, n_layer, n_head, n_embd = 1024, 50304, 12, 12, 768
batch_size, gradient_accumulation_steps, device = 12, 4, "cuda"
max_iters, eval_interval, eval_iters, learning_rate, min_lr = 4, 4, 4, 6e-4, 6e-5
torch.manual_seed(1337)
np.random.seed(1337)
data = {split: np.random.randint(0, 50257, size=500_000, dtype=np.uint16) for split in ("train", "val")}


def get_batch(split):
    ix = torch.randint(len(data[split]) - block_size, (batch_size,))
    chunks = np.stack([data[split][i : i + block_size + 1].astype(np.int64) for i in ix])
    x, y = torch.from_numpy(chunks[:, :-1].copy()), torch.from_numpy(chunks[:, 1:].copy())
    return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn, self.attn_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        B, T, C = x.size()
        qkv = self.c_attn(self.ln_1(x)).split(n_embd, dim=2)
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in qkv)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_proj(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.Sequential(*[Block() for _ in range(n_layer)], nn.LayerNorm(n_embd))
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.apply(lambda m: nn.init.normal_(m.weight, std=0.02) if isinstance(m, (nn.Linear, nn.Embedding)) else None)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        logits = self.lm_head(self.h(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


model = GPT().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
scaler = torch.amp.GradScaler("cuda")
ctx = torch.autocast(device_type="cuda", dtype=torch.float16)


@torch.no_grad()
def estimate_loss(split):
    model.eval()
    losses = torch.zeros(eval_iters)
    for k in range(eval_iters):
        with ctx:
            logits, loss = model(*get_batch(split))
        losses[k] = loss.item()
    model.train()
    return losses.mean().item()


X, Y = get_batch("train")
for iter_num in range(max_iters + 1):
    coeff = 0.5 * (1.0 + math.cos(math.pi * iter_num / max_iters))
    for param_group in optimizer.param_groups:
        param_group["lr"] = min_lr + coeff * (learning_rate - min_lr)
    if iter_num % eval_interval == 0:
        print(f"step {iter_num}: train {estimate_loss('train'):.4f}, val {estimate_loss('val'):.4f}")
    for micro_step in range(gradient_accumulation_steps):
        with ctx:
            logits, loss = model(X, Y)
        X, Y = get_batch("train")
        scaler.scale(loss / gradient_accumulation_steps).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
