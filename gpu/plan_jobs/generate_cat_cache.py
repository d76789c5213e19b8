"""A hand-written decoder whose cache grows by torch.cat, with rotary embeddings and GQA; stops rows never."""
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, dim, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, dim // heads
        self.q = nn.Linear(dim, dim, bias=False)
        self.k = nn.Linear(dim, kv_heads * self.head_dim, bias=False)
        self.v = nn.Linear(dim, kv_heads * self.head_dim, bias=False)
        self.o = nn.Linear(dim, dim, bias=False)

    def forward(self, x, freqs, past=None):
        b, t, _ = x.shape
        start = 0 if past is None else past[0].shape[2]
        q = self.q(x).view(b, t, self.heads, self.head_dim).transpose(1, 2)
        k = self.k(x).view(b, t, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.v(x).view(b, t, self.kv_heads, self.head_dim).transpose(1, 2)
        q, k = self.rotate(q, freqs[start : start + t]), self.rotate(k, freqs[start : start + t])
        if past is not None:
            k = torch.cat((past[0], k), dim=2)
            v = torch.cat((past[1], v), dim=2)
        repeat = self.heads // self.kv_heads
        kk, vv = k.repeat_interleave(repeat, dim=1), v.repeat_interleave(repeat, dim=1)
        y = F.scaled_dot_product_attention(q, kk, vv, is_causal=past is None)
        return self.o(y.transpose(1, 2).reshape(b, t, -1)), (k, v)

    @staticmethod
    def rotate(x, freqs):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * freqs).flatten(-2).type_as(x)


class Transformer(nn.Module):
    def __init__(self, vocab=32000, dim=1536, layers=12, heads=12, kv_heads=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.attn = nn.ModuleList(Attention(dim, heads, kv_heads) for _ in range(layers))
        self.ffn = nn.ModuleList(nn.Sequential(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim)) for _ in range(layers))
        self.n1 = nn.ModuleList(nn.RMSNorm(dim) for _ in range(layers))
        self.n2 = nn.ModuleList(nn.RMSNorm(dim) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(dim), nn.Linear(dim, vocab, bias=False)
        inv = 1.0 / 10000 ** (torch.arange(0, dim // heads, 2) / (dim // heads))
        angles = torch.outer(torch.arange(2048), inv)
        self.freqs = torch.polar(torch.ones_like(angles), angles)  # moved by hand

    def forward(self, ids, cache=None):
        x, new = self.embed(ids), []
        for i, (attn, ffn, n1, n2) in enumerate(zip(self.attn, self.ffn, self.n1, self.n2)):
            y, kv = attn(n1(x), self.freqs, None if cache is None else cache[i])
            new.append(kv)
            x = x + y
            x = x + ffn(n2(x))
        return self.head(self.norm(x)), new


torch.manual_seed(0)
model = Transformer().to("cuda", torch.bfloat16).eval()
model.freqs = model.freqs.to("cuda")
ids = torch.randint(0, 32000, (24, 600), device="cuda")
with torch.inference_mode():
    logits, cache = model(ids)  # the logits of the whole prompt, as quick scripts do
    for step in range(120):
        probs = torch.softmax(logits[:, -1].float() / 0.8, dim=-1)
        ordered, index = probs.sort(dim=-1, descending=True)
        ordered[ordered.cumsum(-1) - ordered > 0.9] = 0.0
        pick = index.gather(-1, torch.multinomial(ordered / ordered.sum(-1, keepdim=True), 1))
        ids = torch.cat([ids, pick], dim=1)
        logits, cache = model(pick, cache)
print(ids.shape, cache[0][0].shape)
