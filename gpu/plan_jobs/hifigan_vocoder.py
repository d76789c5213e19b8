"""HiFi-GAN-like vocoder: conv1d generator against period and scale discriminators, fp32."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm


class ResBlock(nn.Module):
    def __init__(self, ch, k, dilations=(1, 3, 5)):
        super().__init__()
        self.a = nn.ModuleList(weight_norm(nn.Conv1d(ch, ch, k, dilation=d, padding=d * (k - 1) // 2)) for d in dilations)
        self.b = nn.ModuleList(weight_norm(nn.Conv1d(ch, ch, k, padding=(k - 1) // 2)) for _ in dilations)

    def forward(self, x):
        for a, b in zip(self.a, self.b):
            x = x + b(F.leaky_relu(a(F.leaky_relu(x, 0.1)), 0.1))
        return x


class Generator(nn.Module):
    def __init__(self, mels=80, ch=512, rates=(8, 8, 2, 2), kernels=(3, 7, 11)):
        super().__init__()
        self.pre = weight_norm(nn.Conv1d(mels, ch, 7, padding=3))
        self.ups, self.blocks = nn.ModuleList(), nn.ModuleList()
        for r in rates:
            self.ups.append(weight_norm(nn.ConvTranspose1d(ch, ch // 2, 2 * r, r, padding=r // 2)))
            ch //= 2
            self.blocks.append(nn.ModuleList(ResBlock(ch, k) for k in kernels))
        self.post = weight_norm(nn.Conv1d(ch, 1, 7, padding=3))

    def forward(self, x):
        x = self.pre(x)
        for up, blocks in zip(self.ups, self.blocks):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(block(x) for block in blocks) / len(blocks)
        return torch.tanh(self.post(F.leaky_relu(x)))


class PeriodD(nn.Module):
    def __init__(self, period):
        super().__init__()
        self.period = period
        chs = [1, 32, 128, 512, 1024]
        self.convs = nn.ModuleList(weight_norm(nn.Conv2d(a, b, (5, 1), (3, 1), (2, 0))) for a, b in zip(chs, chs[1:]))
        self.post = weight_norm(nn.Conv2d(1024, 1, (3, 1), padding=(1, 0)))

    def forward(self, x):
        x = F.pad(x, (0, -x.shape[-1] % self.period), "reflect")
        x = x.view(x.shape[0], 1, -1, self.period)
        feats = []
        for conv in self.convs:
            x = F.leaky_relu(conv(x), 0.1)
            feats.append(x)
        return self.post(x), feats


class ScaleD(nn.Module):
    def __init__(self, pool):
        super().__init__()
        self.pool = nn.AvgPool1d(4, 2, padding=2) if pool else nn.Identity()
        spec = [(1, 128, 15, 1, 1), (128, 256, 41, 4, 16), (256, 512, 41, 4, 16), (512, 1024, 41, 4, 16)]
        self.convs = nn.ModuleList(weight_norm(nn.Conv1d(a, b, k, s, k // 2, groups=g)) for a, b, k, s, g in spec)
        self.post = weight_norm(nn.Conv1d(1024, 1, 3, padding=1))

    def forward(self, x):
        x, feats = self.pool(x), []
        for conv in self.convs:
            x = F.leaky_relu(conv(x), 0.1)
            feats.append(x)
        return self.post(x), feats


torch.manual_seed(1234)
gen = Generator().cuda()
discs = nn.ModuleList([PeriodD(p) for p in (2, 3, 5, 7, 11)] + [ScaleD(False), ScaleD(True)]).cuda()
opt_g = torch.optim.AdamW(gen.parameters(), 2e-4, betas=(0.8, 0.99))
opt_d = torch.optim.AdamW(discs.parameters(), 2e-4, betas=(0.8, 0.99))
window = torch.hann_window(1024, device="cuda")
spec = lambda w: torch.stft(w.squeeze(1), 1024, 256, window=window, return_complex=True).abs().clamp(min=1e-5).log()

for step in range(4):
    mel, real = torch.randn(16, 80, 48).cuda(), torch.rand(16, 1, 48 * 256).cuda() * 2 - 1
    fake = gen(mel)
    loss_d = sum(((d(real)[0] - 1) ** 2).mean() + (d(fake.detach())[0] ** 2).mean() for d in discs)
    opt_d.zero_grad(); loss_d.backward(); opt_d.step()
    loss_g = 45 * F.l1_loss(spec(fake), spec(real))
    for d in discs:
        (score, feats), (_, real_feats) = d(fake), d(real)
        loss_g = loss_g + ((score - 1) ** 2).mean() + 2 * sum(F.l1_loss(a, b.detach()) for a, b in zip(feats, real_feats))
    opt_g.zero_grad(); loss_g.backward(); opt_g.step()
    print(step, loss_d.item(), loss_g.item())
