"""A ViT written by hand, fp32 with TF32 matmuls, SGD with momentum and an EMA of the weights, mixup on the GPU."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_float32_matmul_precision("high")


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, dim * 3), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        attn = (q @ k.transpose(-2, -1)) * self.scale  # by hand, as the first ViT codes did
        attn = attn.softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(b, n, c))


class Layer(nn.Module):
    def __init__(self, dim, heads, drop_path):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads)
        self.fc1, self.fc2 = nn.Linear(dim, dim * 4), nn.Linear(dim * 4, dim)
        self.drop_path = drop_path

    def dropped(self, x):
        if not self.training or self.drop_path == 0:
            return x
        keep = torch.rand(x.shape[0], 1, 1, device=x.device) >= self.drop_path
        return x * keep / (1 - self.drop_path)

    def forward(self, x):
        x = x + self.dropped(self.attn(self.norm1(x)))
        return x + self.dropped(self.fc2(F.gelu(self.fc1(self.norm2(x)))))


class ViT(nn.Module):
    def __init__(self, size=224, patch=16, dim=512, depth=6, heads=8, classes=1000):
        super().__init__()
        n = (size // patch) ** 2
        self.patch = nn.Conv2d(3, dim, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, n + 1, dim) * 0.02)
        self.layers = nn.Sequential(*[Layer(dim, heads, 0.1 * i / depth) for i in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, img):
        x = self.patch(img).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        return self.head(self.norm(self.layers(x))[:, 0])


def main():
    torch.manual_seed(0)
    model = ViT().cuda()
    ema = copy.deepcopy(model).requires_grad_(False)
    compiled = torch.compile(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 5)
    for step in range(5):
        images = torch.randn(96, 3, 224, 224, device="cuda")
        labels = F.one_hot(torch.randint(0, 1000, (96,), device="cuda"), 1000).float()
        lam = 0.3
        images = lam * images + (1 - lam) * images.flip(0)
        labels = lam * labels + (1 - lam) * labels.flip(0)
        loss = F.cross_entropy(compiled(images), labels, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(ema.parameters()), list(model.parameters()), 0.01)
        print(step, float(loss))


main()
