"""RetNet language model: chunkwise retention carrying a state along 8k tokens, checkpoint_sequential over the layers,
bf16 autocast, loss taken in slices of the sequence."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

VOCAB = 50257
DIM = 1024
HEADS = 8
LAYERS = 18
SEGMENTS = 6
SEQ = 8192
CHUNK = 512
BATCH = 2
STEPS = 4
LOSS_SLICE = 2048


class Retention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(DIM, DIM, bias=False), nn.Linear(DIM, DIM, bias=False)
        self.v, self.g = nn.Linear(DIM, 2 * DIM, bias=False), nn.Linear(DIM, 2 * DIM, bias=False)
        self.o = nn.Linear(2 * DIM, DIM, bias=False)
        self.norm = nn.GroupNorm(HEADS, 2 * DIM, affine=False)
        gamma = 1 - torch.exp2(-5 - torch.arange(HEADS).float())
        i = torch.arange(CHUNK).float()
        decay = gamma[:, None, None] ** (i[:, None] - i[None]).clamp(min=0)
        self.register_buffer("inner", decay.tril())
        self.register_buffer("cross", (gamma[:, None] ** (i + 1)).unsqueeze(-1))
        self.register_buffer("tail", (gamma[:, None] ** (CHUNK - 1 - i)).unsqueeze(-1))
        self.register_buffer("chunk_decay", (gamma**CHUNK).view(HEADS, 1, 1))

    def forward(self, x):
        B, T, _ = x.shape
        heads = lambda t: t.view(B, T, HEADS, -1).transpose(1, 2)
        q, k, v = heads(self.q(x)), heads(self.k(x)) * (DIM // HEADS) ** -0.5, heads(self.v(x))
        state = x.new_zeros(B, HEADS, DIM // HEADS, 2 * DIM // HEADS, dtype=torch.float32)
        outs = []
        for qc, kc, vc in zip(q.split(CHUNK, 2), k.split(CHUNK, 2), v.split(CHUNK, 2)):
            scores = (qc @ kc.transpose(-1, -2)) * self.inner
            out = scores @ vc + (qc @ state) * self.cross
            outs.append(out)
            state = state * self.chunk_decay + (kc * self.tail).transpose(-1, -2) @ vc
        y = torch.cat(outs, 2).transpose(1, 2).reshape(B * T, 2 * DIM)
        y = self.norm(y).view(B, T, 2 * DIM)
        return self.o(F.silu(self.g(x)) * y)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.retention = Retention()
        self.up, self.down = nn.Linear(DIM, 4 * DIM, bias=False), nn.Linear(2 * DIM, DIM, bias=False)

    def forward(self, x):
        x = x + self.retention(self.n1(x))
        a, b = self.up(self.n2(x)).chunk(2, -1)
        return x + self.down(F.silu(a) * b)


class RetNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.norm = nn.RMSNorm(DIM)

    def slice_loss(self, h, y):
        return F.cross_entropy((h @ self.embed.weight.T).float().flatten(0, 1), y.flatten(), reduction="sum")

    def forward(self, ids):
        h = checkpoint_sequential(self.layers, SEGMENTS, self.embed(ids), use_reentrant=False)
        h = self.norm(h)[:, :-1]
        y = ids[:, 1:]
        loss = 0.0
        for hs, ys in zip(h.split(LOSS_SLICE, 1), y.split(LOSS_SLICE, 1)):
            loss = loss + checkpoint(self.slice_loss, hs, ys, use_reentrant=False)
        return loss / y.numel()


def main():
    torch.manual_seed(19)
    device = torch.device("cuda")
    model = RetNet().to(device)
    decay = [p for p in model.parameters() if p.ndim >= 2]
    other = [p for p in model.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": other, "weight_decay": 0.0}],
                                  lr=3e-4, betas=(0.9, 0.98), foreach=False)
    for step in range(STEPS):
        ids = torch.randint(0, VOCAB, (BATCH, SEQ), device=device)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(ids)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
