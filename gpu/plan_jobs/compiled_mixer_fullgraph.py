"""MLP-Mixer, torch.compile(fullgraph=True), fp32 with TF32, RMSprop."""
import torch
import torch.nn as nn

torch.set_float32_matmul_precision("high")


class MlpBlock(nn.Module):
    def __init__(self, dim, hidden, p=0.1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Dropout(p), nn.Linear(hidden, dim), nn.Dropout(p))

    def forward(self, x):
        return self.net(x)


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim, token_hidden, channel_hidden):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token_mix = MlpBlock(tokens, token_hidden)
        self.channel_mix = MlpBlock(dim, channel_hidden)

    def forward(self, x):
        x = x + self.token_mix(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel_mix(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, image=256, patch=16, dim=512, depth=8, classes=200):
        super().__init__()
        tokens = (image // patch) ** 2
        self.stem = nn.Conv2d(3, dim, patch, stride=patch)
        self.blocks = nn.ModuleList([MixerBlock(tokens, dim, 256, 2048) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(dim=1))


def train_step(model, optimizer, images, labels):
    optimizer.zero_grad(set_to_none=True)
    out = model(images)
    loss = nn.functional.cross_entropy(out, labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


def main():
    torch.manual_seed(3)
    model = Mixer().to("cuda")
    model = torch.compile(model, fullgraph=True)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4, momentum=0.9)
    losses = []
    for _ in range(5):
        images = torch.rand(80, 3, 256, 256).to("cuda")
        images = (images - 0.5) / 0.25
        labels = torch.randint(0, 200, (80,)).to("cuda")
        losses.append(train_step(model, optimizer, images, labels))
    print(torch.stack(losses).tolist())
    torch.cuda.synchronize()


main()
