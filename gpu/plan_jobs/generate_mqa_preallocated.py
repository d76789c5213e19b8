"""A hand-written multi-query decoder with preallocated KV buffers (gpt-fast style), fp16, top-k sampling."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, HEAD, LAYERS, VOCAB, MAX_SEQ = 2048, 16, 128, 10, 50000, 1536


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.wqkv = nn.Linear(DIM, HEADS * HEAD + 2 * HEAD, bias=False)  # one head of keys and values
        self.wo = nn.Linear(HEADS * HEAD, DIM, bias=False)
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def setup_cache(self, batch):
        shape = (batch, 1, MAX_SEQ, HEAD)
        self.register_buffer("k_cache", torch.zeros(shape, dtype=torch.float16, device="cuda"), persistent=False)
        self.register_buffer("v_cache", torch.zeros(shape, dtype=torch.float16, device="cuda"), persistent=False)

    def forward(self, x, pos, mask):
        b, t, _ = x.shape
        q, k, v = self.wqkv(self.norm1(x)).split([HEADS * HEAD, HEAD, HEAD], dim=-1)
        q = q.view(b, t, HEADS, HEAD).transpose(1, 2)
        self.k_cache[:, :, pos] = k.view(b, t, 1, HEAD).transpose(1, 2)
        self.v_cache[:, :, pos] = v.view(b, t, 1, HEAD).transpose(1, 2)
        keys = self.k_cache.expand(-1, HEADS, -1, -1)
        values = self.v_cache.expand(-1, HEADS, -1, -1)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        x = x + self.wo(y.transpose(1, 2).reshape(b, t, -1))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, DIM), nn.Embedding(MAX_SEQ, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)
        self.register_buffer("causal", torch.tril(torch.ones(MAX_SEQ, MAX_SEQ, dtype=torch.bool)), persistent=False)

    def forward(self, ids, pos):
        x, mask = self.tok(ids) + self.pos(pos), self.causal[None, None, pos]
        for block in self.blocks:
            x = block(x, pos, mask)
        return self.head(self.norm(x))


def sample(logits, temperature=0.9, top_k=100):
    logits = logits[:, -1].float() / temperature
    floor = logits.topk(top_k).values[:, -1:]
    probs = logits.masked_fill(logits < floor, -float("inf")).softmax(-1)
    return torch.argmax(probs / torch.empty_like(probs).exponential_(1), dim=-1, keepdim=True).to(torch.long)


@torch.no_grad()
def generate(model, prompt, new):
    batch, length = prompt.shape
    for block in model.blocks:
        block.setup_cache(batch)
    out = torch.empty(batch, length + new, dtype=torch.long, device="cuda")
    out[:, :length] = prompt
    token = sample(model(prompt, torch.arange(length, device="cuda")))
    out[:, length : length + 1] = token
    for i in range(1, new):
        token = sample(model(token, torch.tensor([length + i - 1], device="cuda")))
        out[:, length + i : length + i + 1] = token
    return out


torch.manual_seed(0)
model = Decoder().half().cuda().eval()
for batch, length in ((8, 512), (16, 1024)):
    print(generate(model, torch.randint(0, VOCAB, (batch, length), device="cuda"), 100).shape)
