"""Consistency distillation of an EDM denoiser at 64x64: teacher read from a state_dict, student, EMA target, Heun steps."""
import copy
import io
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 48
RES = 64
WIDTH = 128
STEPS = 5
SIGMA_MIN, SIGMA_MAX, RHO, SIGMA_DATA = 0.002, 80.0, 7.0, 0.5
SCALES = 18


class Block(nn.Module):
    def __init__(self, cin, cout, emb, attn=False):
        super().__init__()
        self.norm0 = nn.GroupNorm(32, cin)
        self.conv0 = nn.Conv2d(cin, cout, 3, padding=1)
        self.affine = nn.Linear(emb, 2 * cout)
        self.norm1 = nn.GroupNorm(32, cout)
        self.conv1 = nn.Conv2d(cout, cout, 3, padding=1)
        nn.init.zeros_(self.conv1.weight)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else None
        self.attn = attn
        if attn:
            self.norm2 = nn.GroupNorm(32, cout)
            self.qkv = nn.Conv2d(cout, 3 * cout, 1)
            self.proj = nn.Conv2d(cout, cout, 1)

    def forward(self, x, emb):
        h = self.conv0(F.silu(self.norm0(x)))
        scale, shift = self.affine(emb)[:, :, None, None].chunk(2, 1)
        h = F.silu(torch.addcmul(shift, self.norm1(h), scale + 1))
        h = self.conv1(F.dropout(h, 0.1, self.training))
        x = (h + (x if self.skip is None else self.skip(x))) * math.sqrt(0.5)
        if self.attn:
            b, c, hh, ww = x.shape
            q, k, v = self.qkv(self.norm2(x)).reshape(b, 3, c // 64, 64, hh * ww).transpose(-1, -2).unbind(1)
            w = torch.softmax(q @ k.transpose(-1, -2) / 8.0, dim=-1)
            y = (w @ v).transpose(-1, -2).reshape(b, c, hh, ww)
            x = (x + self.proj(y)) * math.sqrt(0.5)
        return x


class UNet(nn.Module):
    def __init__(self, ch=WIDTH, mults=(1, 2, 3, 4), blocks=2):
        super().__init__()
        emb = 4 * ch
        self.register_buffer("freqs", torch.randn(ch // 2) * 16)
        self.map = nn.Sequential(nn.Linear(ch, emb), nn.SiLU(), nn.Linear(emb, emb), nn.SiLU())
        self.stem = nn.Conv2d(3, ch, 3, padding=1)
        self.enc, self.dec = nn.ModuleList(), nn.ModuleList()
        c, skips = ch, [ch]
        for level, m in enumerate(mults):
            if level:
                self.enc.append(nn.AvgPool2d(2))
                skips.append(c)
            for _ in range(blocks):
                self.enc.append(Block(c, ch * m, emb, attn=level >= 2))
                c = ch * m
                skips.append(c)
        self.mid = nn.ModuleList([Block(c, c, emb, True), Block(c, c, emb)])
        for level, m in reversed(list(enumerate(mults))):
            for _ in range(blocks + 1):
                self.dec.append(Block(c + skips.pop(), ch * m, emb, attn=level >= 2))
                c = ch * m
            if level:
                self.dec.append(nn.Upsample(scale_factor=2))
        self.out = nn.Sequential(nn.GroupNorm(32, c), nn.SiLU(), nn.Conv2d(c, 3, 3, padding=1))

    def forward(self, x, noise):
        e = noise[:, None] * self.freqs * 2 * math.pi
        emb = self.map(torch.cat([e.cos(), e.sin()], 1))
        x = self.stem(x)
        hs = [x]
        for layer in self.enc:
            x = layer(x, emb) if isinstance(layer, Block) else layer(x)
            hs.append(x)
        for layer in self.mid:
            x = layer(x, emb)
        for layer in self.dec:
            x = layer(torch.cat([x, hs.pop()], 1), emb) if isinstance(layer, Block) else layer(x)
        return self.out(x)


def precond(net, x, sigma, consistency):
    s = sigma.view(-1, 1, 1, 1)
    s0 = s - SIGMA_MIN if consistency else s
    c_skip = SIGMA_DATA**2 / (s0**2 + SIGMA_DATA**2)
    c_out = s0 * SIGMA_DATA / (SIGMA_DATA**2 + s**2).sqrt()
    c_in = 1 / (s**2 + SIGMA_DATA**2).sqrt()
    return c_skip * x + c_out * net(c_in * x, sigma.log() / 4)


@torch.no_grad()
def heun(teacher, x, t, t_next):
    v = lambda s: s.view(-1, 1, 1, 1)
    d = (x - precond(teacher, x, t, False)) / v(t)
    x1 = x + d * v(t_next - t)
    d1 = (x1 - precond(teacher, x1, t_next, False)) / v(t_next)
    return x + 0.5 * (d + d1) * v(t_next - t)


def main():
    torch.manual_seed(31)
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda")

    buffer = io.BytesIO()
    torch.save(UNet().state_dict(), buffer)
    buffer.seek(0)
    teacher = UNet().to(device)
    teacher.load_state_dict(torch.load(buffer, map_location=device))
    teacher.eval().requires_grad_(False)

    student = copy.deepcopy(teacher).train().requires_grad_(True)
    target = copy.deepcopy(teacher).train().requires_grad_(False)
    optimizer = torch.optim.RAdam(student.parameters(), lr=5e-5)

    ramp = torch.linspace(0, 1, SCALES, device=device)
    sigmas = (SIGMA_MAX ** (1 / RHO) + ramp * (SIGMA_MIN ** (1 / RHO) - SIGMA_MAX ** (1 / RHO))) ** RHO

    for step in range(STEPS):
        x0 = torch.rand(BATCH, 3, RES, RES).mul_(2).sub_(1).to(device)
        n = torch.randint(0, SCALES - 1, (BATCH,), device=device)
        t, t_next = sigmas[n], sigmas[n + 1]
        x_t = x0 + torch.randn_like(x0) * t.view(-1, 1, 1, 1)
        x_next = heun(teacher, x_t, t, t_next)
        rng = torch.random.get_rng_state()
        pred = precond(student, x_t, t, True)
        with torch.no_grad():
            torch.random.set_rng_state(rng)
            ref = precond(target, x_next, t_next, True)
        c = 0.00054 * math.sqrt(3 * RES * RES)
        loss = (((pred - ref) ** 2).sum((1, 2, 3)) + c**2).sqrt().sub(c).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(target.parameters()), list(student.parameters()), 0.05)
        print(f"step {step} loss {loss.item():.4f}")

    target.eval()
    with torch.no_grad():
        z = torch.randn(128, 3, RES, RES, device=device) * SIGMA_MAX
        sample = precond(target, z, torch.full((128,), SIGMA_MAX, device=device), True)
    print("one-step samples", tuple(sample.shape), f"{sample.std().item():.3f}")


if __name__ == "__main__":
    main()
