"""Train a small GPT the way nanoGPT does: autocast bf16, gradient accumulation, clipping, fused AdamW."""
import math
import time

import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(1337)
batch_size, block_size, grad_accum, max_iters = 8, 1024, 2, 3
n_layer, n_head, n_embd, vocab = 6, 12, 768, 50304
device = "cuda"


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(n_embd, dim=2)
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0.0, is_causal=True)
        return F.dropout(self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)), 0.1, self.training)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd, bias=False), nn.LayerNorm(n_embd, bias=False)
        self.attn = CausalSelfAttention()
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd, bias=False), nn.GELU(), nn.Linear(4 * n_embd, n_embd, bias=False), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList([Block() for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd, bias=False)
        self.lm_head = nn.Linear(n_embd, vocab, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets):
        pos = torch.arange(idx.size(1), device=idx.device)
        x = F.dropout(self.wte(idx) + self.wpe(pos), 0.1, self.training)
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


data = torch.randint(0, 50257, (1_000_000,))


def get_batch():
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)


raw = GPT().to(device)
decay = [p for p in raw.parameters() if p.dim() >= 2]
rest = [p for p in raw.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=6e-4, betas=(0.9, 0.95), fused=True)
model = torch.compile(raw)
X, Y = get_batch()
for it in range(max_iters):
    t0 = time.time()
    for group in optimizer.param_groups:
        group["lr"] = 6e-4 * 0.5 * (1 + math.cos(math.pi * it / max_iters))
    for _ in range(grad_accum):
        with torch.amp.autocast("cuda", dtype=torch.bfloat16):
            logits, loss = model(X, Y)
            loss = loss / grad_accum
        X, Y = get_batch()
        loss.backward()
    torch.nn.utils.clip_grad_norm_(raw.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"iter {it}: loss {loss.item() * grad_accum:.4f}, {time.time() - t0:.2f}s")
