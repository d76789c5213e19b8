"""Text-to-image training. The text encoder is frozen so I cache the embedding of each prompt; with my 200 toy captions it worked, with the real captions OOM."""
import functools
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda"


class FrozenTextEncoder(nn.Module):
    def __init__(self, dim=768, layers=8):
        super().__init__()
        self.tok = nn.Embedding(6000, dim)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(dim, 12, 2 * dim, batch_first=True, dropout=0.0) for _ in range(layers))
        self.requires_grad_(False)

    @functools.lru_cache(maxsize=32 if os.environ.get("CURED") else None)
    @torch.no_grad()
    def encode(self, prompt: str):
        ids = torch.tensor([hash(w) % 6000 for w in prompt.split()] + [0] * 77)[:77].to(device)
        x, states = self.tok(ids)[None], []
        for layer in self.layers:
            x = layer(x)
            states.append(x)
        return torch.cat(states, -1)


class Denoiser(nn.Module):
    def __init__(self, ctx=768 * 8):
        super().__init__()
        self.ctx, self.inp = nn.Linear(ctx, 256), nn.Linear(4 * 16, 256)
        self.attn = nn.MultiheadAttention(256, 4, batch_first=True)
        self.out = nn.Linear(256, 4 * 16)

    def forward(self, latents, context):
        c = self.ctx(context)
        h = self.inp(latents)
        return self.out(h + self.attn(h, c, c, need_weights=False)[0])


with torch.device(device):
    text, unet = FrozenTextEncoder().eval(), Denoiser()
opt = torch.optim.AdamW(unet.parameters(), lr=1e-4)
for step in range(180):
    prompts = [f"a photo of object number {step * 8 + i} in style {i}" for i in range(8)]
    context = torch.cat([text.encode(p) for p in prompts])
    latents = torch.randn(8, 256, 64, device=device)
    loss = F.mse_loss(unet(latents, context), latents)
    loss.backward()
    opt.step()
    opt.zero_grad()
    if step % 20 == 0:
        print("step", step, text.encode.cache_info().misses, flush=True)
