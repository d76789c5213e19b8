"""Text-to-image latent diffusion: frozen VAE encoder and CLIP text tower, UNet with cross-attention in bf16 autocast,
then classifier-free guidance sampling with DDIM and decoding."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import CLIPTextConfig, CLIPTextModel

BATCH = 16
SIZE = 512
CH = 256
STEPS = 5
SAMPLE_STEPS = 12
GUIDANCE = 7.5
TOKENS = 77


def norm(c):
    return nn.GroupNorm(32, c, eps=1e-6)


class VaeRes(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.body = nn.Sequential(norm(cin), nn.SiLU(), nn.Conv2d(cin, cout, 3, 1, 1),
                                  norm(cout), nn.SiLU(), nn.Conv2d(cout, cout, 3, 1, 1))
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x):
        return self.skip(x) + self.body(x)


class VAE(nn.Module):
    def __init__(self, widths=(128, 256, 512, 512), latent=4):
        super().__init__()
        enc, c = [nn.Conv2d(3, widths[0], 3, 1, 1)], widths[0]
        for i, w in enumerate(widths):
            enc += [VaeRes(c, w), VaeRes(w, w)]
            c = w
            if i < len(widths) - 1:
                enc.append(nn.Conv2d(c, c, 3, 2, 1))
        self.encoder = nn.Sequential(*enc, norm(c), nn.SiLU(), nn.Conv2d(c, 2 * latent, 3, 1, 1))
        dec = [nn.Conv2d(latent, c, 3, 1, 1)]
        for i, w in enumerate(reversed(widths)):
            dec += [VaeRes(c, w), VaeRes(w, w)]
            c = w
            if i < len(widths) - 1:
                dec += [nn.Upsample(scale_factor=2), nn.Conv2d(c, c, 3, 1, 1)]
        self.decoder = nn.Sequential(*dec, norm(c), nn.SiLU(), nn.Conv2d(c, 3, 3, 1, 1))

    def encode(self, x):
        mean, logvar = self.encoder(x).chunk(2, 1)
        return (mean + torch.exp(0.5 * logvar.clamp(-30, 20)) * torch.randn_like(mean)) * 0.18215

    def decode(self, z):
        return self.decoder(z / 0.18215)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, emb):
        super().__init__()
        self.n1, self.c1 = norm(cin), nn.Conv2d(cin, cout, 3, 1, 1)
        self.emb = nn.Linear(emb, cout)
        self.n2, self.c2 = norm(cout), nn.Conv2d(cout, cout, 3, 1, 1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t, _):
        h = self.c1(F.silu(self.n1(x))) + self.emb(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.c2(F.silu(self.n2(h)))


class Attention(nn.Module):
    def __init__(self, dim, ctx, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(dim, dim, bias=False)
        self.kv = nn.Linear(ctx, 2 * dim, bias=False)
        self.o = nn.Linear(dim, dim)

    def forward(self, x, ctx):
        split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = self.kv(ctx).chunk(2, -1)
        y = F.scaled_dot_product_attention(split(self.q(x)), split(k), split(v))
        return self.o(y.transpose(1, 2).flatten(2))


class SpatialTransformer(nn.Module):
    def __init__(self, c, ctx, heads=8):
        super().__init__()
        self.norm = norm(c)
        self.proj_in, self.proj_out = nn.Linear(c, c), nn.Linear(c, c)
        self.n1, self.n2, self.n3 = nn.LayerNorm(c), nn.LayerNorm(c), nn.LayerNorm(c)
        self.self_attn, self.cross = Attention(c, c, heads), Attention(c, ctx, heads)
        self.ff_in, self.ff_out = nn.Linear(c, 8 * c), nn.Linear(4 * c, c)

    def forward(self, x, t, ctx):
        b, c, h, w = x.shape
        y = self.proj_in(self.norm(x).flatten(2).transpose(1, 2))
        n = self.n1(y)
        y = y + self.self_attn(n, n)
        y = y + self.cross(self.n2(y), ctx)
        a, g = self.ff_in(self.n3(y)).chunk(2, -1)
        y = y + self.ff_out(a * F.gelu(g))
        return x + self.proj_out(y).transpose(1, 2).reshape(b, c, h, w)


class UNet(nn.Module):
    def __init__(self, ch=CH, mults=(1, 2, 4), ctx=768):
        super().__init__()
        emb = ch * 4
        self.ch = ch
        self.time = nn.Sequential(nn.Linear(ch, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.conv_in = nn.Conv2d(4, ch, 3, 1, 1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        c, skips = ch, [ch]
        for i, m in enumerate(mults):
            for _ in range(2):
                self.down.append(nn.ModuleList([ResBlock(c, ch * m, emb), SpatialTransformer(ch * m, ctx)]))
                c = ch * m
                skips.append(c)
            if i < len(mults) - 1:
                self.down.append(nn.ModuleList([nn.Conv2d(c, c, 3, 2, 1)]))
                skips.append(c)
        self.mid = nn.ModuleList([ResBlock(c, c, emb), SpatialTransformer(c, ctx), ResBlock(c, c, emb)])
        for i, m in reversed(list(enumerate(mults))):
            for j in range(3):
                block = [ResBlock(c + skips.pop(), ch * m, emb), SpatialTransformer(ch * m, ctx)]
                c = ch * m
                if j == 2 and i > 0:
                    block.append(nn.Conv2d(c, c, 3, 1, 1))
                self.up.append(nn.ModuleList(block))
        self.out = nn.Sequential(norm(c), nn.SiLU(), nn.Conv2d(c, 4, 3, 1, 1))

    def forward(self, x, t, ctx):
        half = self.ch // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half, device=x.device) / half)
        args = t[:, None].float() * freqs
        t = self.time(torch.cat([args.cos(), args.sin()], -1))
        x = self.conv_in(x)
        hs = [x]
        for block in self.down:
            if isinstance(block[0], nn.Conv2d):
                x = block[0](x)
            else:
                for layer in block:
                    x = layer(x, t, ctx)
            hs.append(x)
        for layer in self.mid:
            x = layer(x, t, ctx)
        for block in self.up:
            x = torch.cat([x, hs.pop()], 1)
            x = block[1](block[0](x, t, ctx), t, ctx)
            if len(block) == 3:
                x = block[2](F.interpolate(x, scale_factor=2))
        return self.out(x)


@torch.no_grad()
def sample(unet, vae, cond, uncond, alphas, device):
    n = cond.size(0)
    z = torch.randn(n, 4, SIZE // 8, SIZE // 8, device=device)
    ctx = torch.cat([uncond.expand_as(cond), cond])
    times = torch.linspace(999, 0, SAMPLE_STEPS, device=device).long()
    for i, t in enumerate(times):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            e_u, e_c = unet(torch.cat([z, z]), t.expand(2 * n), ctx).float().chunk(2)
        eps = e_u + GUIDANCE * (e_c - e_u)
        a = alphas[t]
        prev = alphas[times[i + 1]] if i + 1 < len(times) else torch.ones((), device=device)
        x0 = (z - (1 - a).sqrt() * eps) / a.sqrt()
        z = prev.sqrt() * x0 + (1 - prev).sqrt() * eps
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return vae.decode(z)


def main():
    torch.manual_seed(2022)
    device = torch.device("cuda")
    vae = VAE().to(device).eval().requires_grad_(False)
    text = CLIPTextModel(CLIPTextConfig(hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                                        intermediate_size=3072)).to(device).eval().requires_grad_(False)
    unet = UNet().to(device)
    optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4, weight_decay=1e-2)
    alphas = torch.cumprod(1 - torch.linspace(0.00085**0.5, 0.012**0.5, 1000, device=device) ** 2, 0)
    empty = torch.full((1, TOKENS), 49407, device=device)

    for step in range(STEPS):
        images = torch.rand(BATCH, 3, SIZE, SIZE).mul_(2).sub_(1).to(device)
        ids = torch.randint(0, 49406, (BATCH, TOKENS), device=device)
        ids[:, -1] = 49407
        ids[torch.rand(BATCH, device=device) < 0.1] = 49407
        with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
            z = vae.encode(images).float()
            ctx = text(input_ids=ids).last_hidden_state
        t = torch.randint(0, 1000, (BATCH,), device=device)
        a = alphas[t].view(-1, 1, 1, 1)
        noise = torch.randn_like(z)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            pred = unet(a.sqrt() * z + (1 - a).sqrt() * noise, t, ctx)
        loss = F.mse_loss(pred.float(), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")

    unet.eval()
    with torch.no_grad():
        cond = text(input_ids=torch.randint(0, 49406, (4, TOKENS), device=device)).last_hidden_state
        uncond = text(input_ids=empty).last_hidden_state
    images = sample(unet, vae, cond, uncond, alphas, device)
    print("images", tuple(images.shape))


if __name__ == "__main__":
    main()
