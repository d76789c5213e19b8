"""A decoder with switch-style mixture-of-experts layers (fixed capacity), everything in bf16, compiled."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, EXPERTS, TOPK, HIDDEN, VOCAB, SEQ, BATCH = 768, 12, 4, 8, 2, 2048, 32000, 512, 8


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * self.weight


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(DIM, EXPERTS, bias=False)
        self.w1 = nn.Parameter(torch.randn(EXPERTS, DIM, HIDDEN) * 0.02)
        self.w3 = nn.Parameter(torch.randn(EXPERTS, DIM, HIDDEN) * 0.02)
        self.w2 = nn.Parameter(torch.randn(EXPERTS, HIDDEN, DIM) * 0.02)

    def forward(self, x):
        b, t, d = x.shape
        flat = x.reshape(-1, d)
        tokens = flat.shape[0]
        capacity = int(1.25 * TOPK * tokens / EXPERTS)
        probs = F.softmax(self.router(flat).float(), dim=-1)
        gate, chosen = probs.topk(TOPK, dim=-1)
        gate = gate / gate.sum(-1, keepdim=True)
        hot = F.one_hot(chosen, EXPERTS)  # tokens, k, experts
        place = (hot.reshape(-1, EXPERTS).cumsum(0) - 1).reshape(tokens, TOPK, EXPERTS)
        place = (place * hot).sum(-1)  # tokens, k
        kept = place < capacity
        slot = torch.where(kept, chosen * capacity + place, EXPERTS * capacity)
        inbox = flat.new_zeros(EXPERTS * capacity + 1, d)
        inbox = inbox.index_copy(0, slot.reshape(-1), flat.repeat_interleave(TOPK, 0))
        work = inbox[:-1].view(EXPERTS, capacity, d)
        work = torch.bmm(F.silu(torch.bmm(work, self.w1)) * torch.bmm(work, self.w3), self.w2)
        outbox = torch.cat([work.reshape(-1, d), flat.new_zeros(1, d)])
        out = (outbox[slot] * (gate * kept).unsqueeze(-1).to(x.dtype)).sum(1)
        aux = EXPERTS * (probs.mean(0) * hot[:, 0].float().mean(0)).sum()
        return out.view(b, t, d), aux


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.qkv = nn.ModuleList(nn.Linear(DIM, 3 * DIM, bias=False) for _ in range(LAYERS))
        self.out = nn.ModuleList(nn.Linear(DIM, DIM, bias=False) for _ in range(LAYERS))
        self.moe = nn.ModuleList(MoE() for _ in range(LAYERS))
        self.norms = nn.ModuleList(RMSNorm(DIM) for _ in range(2 * LAYERS + 1))
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        x, aux = self.embed(ids), 0.0
        for i in range(LAYERS):
            q, k, v = self.qkv[i](self.norms[2 * i](x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
            x = x + self.out[i](F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            y, a = self.moe[i](self.norms[2 * i + 1](x))
            x, aux = x + y, aux + a
        return self.head(self.norms[-1](x)), aux


torch.manual_seed(0)
model = Model().to(device="cuda", dtype=torch.bfloat16)
step_fn = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95))
for step in range(4):
    ids = torch.randint(0, VOCAB, (BATCH, SEQ + 1), device="cuda")
    logits, aux = step_fn(ids[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten()) + 0.01 * aux
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(step, loss.item())
