"""The transformer is tiny (60M) and in bf16, yet 8 sequences of 1024 tokens do not fit in 5 GB. Removing layers changes nothing."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 50_304


class Block(nn.Module):
    def __init__(self, d=384, h=6):
        super().__init__()
        self.h, self.ln1, self.ln2 = h, nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.fc, self.out = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.out(F.gelu(self.fc(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self, d=384, layers=6):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, d), nn.Embedding(1024, d)
        self.blocks = nn.Sequential(*[Block(d) for _ in range(layers)])
        self.lm_head = nn.Linear(d, VOCAB, bias=False)

    def forward(self, idx, targets):
        x = self.blocks(self.tok(idx) + self.pos(torch.arange(idx.shape[1], device=idx.device)))
        if os.environ.get("CURED"):
            part = lambda h, y: F.cross_entropy(self.lm_head(h).float(), y, reduction="sum")
            pieces = zip(x.flatten(0, 1).split(512), targets.flatten().split(512))
            return sum(torch.utils.checkpoint.checkpoint(part, h, y, use_reentrant=False) for h, y in pieces) / targets.numel()
        logits = self.lm_head(x).float()
        return F.cross_entropy(logits.reshape(-1, VOCAB), targets.reshape(-1))


with torch.device("cuda"):
    model = GPT()
opt = torch.optim.AdamW(model.parameters(), lr=6e-4, fused=True)
for it in range(8):
    x = torch.randint(0, VOCAB, (8, 1025), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(x[:, :-1], x[:, 1:])
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(f"iter {it} loss {loss.item():.3f}", flush=True)
