"""WaveNet with dilated causal Conv1d layers on mu-law audio, fp32, NAdam."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

QUANT = 256
SAMPLE_LEN = 16000
BATCH_SIZE = 8
STEPS = 4


class RandomAudio(Dataset):
    def __init__(self, n):
        wave = torch.rand(n, SAMPLE_LEN + 1) * 2 - 1
        mu = torch.tensor(QUANT - 1.0)
        compressed = torch.sign(wave) * torch.log1p(mu * wave.abs()) / torch.log1p(mu)
        self.codes = ((compressed + 1) / 2 * mu + 0.5).long().clamp(0, QUANT - 1)

    def __len__(self):
        return len(self.codes)

    def __getitem__(self, i):
        return self.codes[i, :-1], self.codes[i, 1:]


class CausalConv1d(nn.Conv1d):
    def __init__(self, in_ch, out_ch, kernel_size, dilation=1):
        super().__init__(in_ch, out_ch, kernel_size, dilation=dilation)
        self.left_pad = (kernel_size - 1) * dilation

    def forward(self, x):
        return super().forward(F.pad(x, (self.left_pad, 0)))


class ResidualLayer(nn.Module):
    def __init__(self, residual, skip, dilation):
        super().__init__()
        self.filter_conv = CausalConv1d(residual, residual, 2, dilation)
        self.gate_conv = CausalConv1d(residual, residual, 2, dilation)
        self.res_conv = nn.Conv1d(residual, residual, 1)
        self.skip_conv = nn.Conv1d(residual, skip, 1)

    def forward(self, x):
        z = torch.tanh(self.filter_conv(x)) * torch.sigmoid(self.gate_conv(x))
        return x + self.res_conv(z), self.skip_conv(z)


class WaveNet(nn.Module):
    def __init__(self, residual=128, skip=256, blocks=3, layers=10):
        super().__init__()
        self.embed = nn.Embedding(QUANT, residual)
        dilations = [2**i for i in range(layers)] * blocks
        self.layers = nn.ModuleList([ResidualLayer(residual, skip, d) for d in dilations])
        self.post = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, QUANT, 1))

    def forward(self, codes):
        x = self.embed(codes).transpose(1, 2)
        skips = 0
        for layer in self.layers:
            x, s = layer(x)
            skips = skips + s
        return self.post(skips)


def main():
    torch.manual_seed(2016)
    device = torch.device("cuda")
    model = WaveNet().to(device)
    loader = DataLoader(RandomAudio(BATCH_SIZE * STEPS), batch_size=BATCH_SIZE, shuffle=True, num_workers=0)
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.999)

    for step, (inputs, targets) in enumerate(loader):
        inputs, targets = inputs.to(device), targets.to(device)
        logits = model(inputs)
        loss = F.cross_entropy(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
