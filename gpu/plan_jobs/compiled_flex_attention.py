"""Document-masked sliding-window GPT with flex_attention; packed sequences, bf16 weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

DIM, HEADS, KV, LAYERS, VOCAB, SEQ, BATCH, WINDOW = 1024, 16, 4, 4, 32768, 4096, 2, 512
HEAD = DIM // HEADS


def rope(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.q = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.kv = nn.Linear(DIM, 2 * KV * HEAD, bias=False)
        self.o = nn.Linear(DIM, DIM, bias=False)
        self.up, self.down = nn.Linear(DIM, 4 * DIM, bias=False), nn.Linear(4 * DIM, DIM, bias=False)

    def forward(self, x, cos, sin, mask):
        b, t, _ = x.shape
        h = self.norm1(x)
        q = self.q(h).view(b, t, HEADS, HEAD).transpose(1, 2)
        k, v = self.kv(h).view(b, t, 2, KV, HEAD).permute(2, 0, 3, 1, 4)
        y = flex_attention(rope(q, cos, sin), rope(k, cos, sin), v, block_mask=mask, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.relu(self.up(self.norm2(x))).square())


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.RMSNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)
        angles = torch.outer(torch.arange(SEQ).float(), 10000 ** (-torch.arange(0, HEAD, 2) / HEAD))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, ids, mask, targets):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin, mask)
        logits = self.head(self.norm(x)).float()
        return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))


def document_mask(doc):
    def mod(b, h, q, kv):
        return (q >= kv) & (q - kv < WINDOW) & (doc[b, q] == doc[b, kv])

    return create_block_mask(mod, B=BATCH, H=None, Q_LEN=SEQ, KV_LEN=SEQ, device="cuda")


torch.manual_seed(0)
model = LM().to("cuda", torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
compiled = torch.compile(model)
for step in range(4):
    ids = torch.randint(1, VOCAB, (BATCH, SEQ + 1), device="cuda")
    ids[:, ::700] = 0  # ends of documents
    mask = document_mask((ids[:, :-1] == 0).cumsum(1))
    loss = compiled(ids[:, :-1].contiguous(), mask, ids[:, 1:].contiguous())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
