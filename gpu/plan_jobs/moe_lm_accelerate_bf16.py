"""A GShard-style mixture-of-experts language model trained with accelerate in bf16."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

VOCAB, DIM, HEADS, LAYERS, EXPERTS, TOP_K, SEQ = 32000, 768, 12, 8, 8, 2, 512


class MoE(nn.Module):
    """Top-2 routing with a fixed capacity per expert; tokens over it are dropped."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(DIM, EXPERTS, bias=False)
        self.w1 = nn.Parameter(torch.randn(EXPERTS, DIM, 4 * DIM) * 0.02)
        self.w2 = nn.Parameter(torch.randn(EXPERTS, 4 * DIM, DIM) * 0.02)

    def forward(self, x):
        b, s, _ = x.shape
        capacity = math.ceil(1.25 * TOP_K * s / EXPERTS)
        probs = self.router(x).float().softmax(-1)
        weight, chosen = probs.topk(TOP_K, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)
        onehot = F.one_hot(chosen, EXPERTS)  # b s k e
        flat = onehot.transpose(1, 2).reshape(b, TOP_K * s, EXPERTS)
        position = ((flat.cumsum(1) - 1) * flat).view(b, TOP_K, s, EXPERTS).transpose(1, 2)
        kept = onehot * (position < capacity)
        slot = F.one_hot(position.clamp(max=capacity - 1), capacity).float() * kept.unsqueeze(-1)
        combine = (weight[..., None, None] * slot).sum(2)  # b s e c
        dispatch = (combine > 0).to(x.dtype)
        h = F.gelu(torch.einsum("ebcd,edf->ebcf", torch.einsum("bsec,bsd->ebcd", dispatch, x), self.w1))
        h = torch.einsum("ebcf,efd->ebcd", h, self.w2)
        out = torch.einsum("bsec,ebcd->bsd", combine, h)
        balance = EXPERTS * (onehot[:, :, 0].float().mean((0, 1)) * probs.mean((0, 1))).sum()
        return out, balance


class Block(nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.sparse = sparse
        self.ff = MoE() if sparse else nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, s, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, s, d))
        y, aux = self.ff(self.ln2(x)) if self.sparse else (self.ff(self.ln2(x)), 0.0)
        return x + y, aux


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, DIM), nn.Embedding(SEQ, DIM)
        self.blocks = nn.ModuleList(Block(sparse=i % 2 == 1) for i in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        x, aux = self.tok(ids) + self.pos.weight[: ids.shape[1]], 0.0
        for block in self.blocks:
            x, a = block(x)
            aux = aux + a
        return self.head(self.norm(x)), aux


set_seed(3)
accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
loader = DataLoader(TensorDataset(torch.randint(0, VOCAB, (48, SEQ + 1))), batch_size=8, shuffle=True)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for (ids,) in loader:
    with accelerator.accumulate(model):
        logits, aux = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()) + 0.01 * aux
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            accelerator.print("loss", loss.item())
        optimizer.step()
        optimizer.zero_grad()
