"""ECAPA-TDNN speaker embeddings with torchaudio mel features on the GPU, AAM-softmax over 7205 speakers,
then verification scores on longer utterances."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchaudio
from torch.utils.data import DataLoader, Dataset

SPEAKERS = 7205
RATE = 16000
CHANNELS = 1024
BATCH = 128
STEPS = 5
WORKERS = 4


class Utterances(Dataset):
    def __init__(self, n, seconds, seed=0):
        self.n, self.samples, self.seed = n, int(seconds * RATE), seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        wave = 0.1 * torch.randn(self.samples, generator=g)
        return wave, int(torch.randint(0, SPEAKERS, (1,), generator=g))


class SEModule(nn.Module):
    def __init__(self, c, bottleneck=128):
        super().__init__()
        self.se = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Conv1d(c, bottleneck, 1), nn.ReLU(),
                                nn.Conv1d(bottleneck, c, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.se(x)


class Bottle2neck(nn.Module):
    def __init__(self, c, dilation, scale=8):
        super().__init__()
        w = c // scale
        self.conv1, self.bn1 = nn.Conv1d(c, c, 1), nn.BatchNorm1d(c)
        self.convs = nn.ModuleList([nn.Conv1d(w, w, 3, dilation=dilation, padding=dilation) for _ in range(scale - 1)])
        self.bns = nn.ModuleList([nn.BatchNorm1d(w) for _ in range(scale - 1)])
        self.conv3, self.bn3 = nn.Conv1d(c, c, 1), nn.BatchNorm1d(c)
        self.se = SEModule(c)
        self.width = w

    def forward(self, x):
        out = self.bn1(F.relu(self.conv1(x)))
        spx = torch.split(out, self.width, 1)
        outs, sp = [], None
        for i, (conv, bn) in enumerate(zip(self.convs, self.bns)):
            sp = spx[i] if sp is None else sp + spx[i]
            sp = bn(F.relu(conv(sp)))
            outs.append(sp)
        outs.append(spx[-1])
        out = self.bn3(F.relu(self.conv3(torch.cat(outs, 1))))
        return self.se(out) + x


class ECAPA(nn.Module):
    def __init__(self, c=CHANNELS):
        super().__init__()
        self.mel = torchaudio.transforms.MelSpectrogram(sample_rate=RATE, n_fft=512, win_length=400, hop_length=160,
                                                        f_min=20, f_max=7600, n_mels=80)
        self.conv1, self.bn1 = nn.Conv1d(80, c, 5, padding=2), nn.BatchNorm1d(c)
        self.layer1, self.layer2, self.layer3 = Bottle2neck(c, 2), Bottle2neck(c, 3), Bottle2neck(c, 4)
        self.layer4 = nn.Conv1d(3 * c, 1536, 1)
        self.attention = nn.Sequential(nn.Conv1d(4608, 256, 1), nn.ReLU(), nn.BatchNorm1d(256), nn.Tanh(),
                                       nn.Conv1d(256, 1536, 1), nn.Softmax(dim=2))
        self.bn5, self.fc6, self.bn6 = nn.BatchNorm1d(3072), nn.Linear(3072, 192), nn.BatchNorm1d(192)

    def forward(self, wave, augment=False):
        with torch.no_grad():
            x = (self.mel(wave) + 1e-6).log()
            x = x - x.mean(-1, keepdim=True)
            if augment:
                f = int(torch.randint(0, 70, (1,)))
                x[:, f : f + 8] = 0.0
        x = self.bn1(F.relu(self.conv1(x)))
        x1 = self.layer1(x)
        x2 = self.layer2(x + x1)
        x3 = self.layer3(x + x1 + x2)
        x = F.relu(self.layer4(torch.cat([x1, x2, x3], 1)))
        t = x.size(-1)
        stats = [x, x.mean(2, keepdim=True).repeat(1, 1, t),
                 torch.sqrt(x.var(2, keepdim=True).clamp(min=1e-4)).repeat(1, 1, t)]
        w = self.attention(torch.cat(stats, 1))
        mu = (x * w).sum(2)
        sg = torch.sqrt(((x**2 * w).sum(2) - mu**2).clamp(min=1e-4))
        return self.bn6(self.fc6(self.bn5(torch.cat([mu, sg], 1))))


class AAMSoftmax(nn.Module):
    def __init__(self, n, m=0.2, s=30.0):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n, 192))
        nn.init.xavier_normal_(self.weight)
        self.m, self.s = m, s

    def forward(self, x, y):
        cosine = F.linear(F.normalize(x), F.normalize(self.weight))
        theta = torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))
        onehot = F.one_hot(y, cosine.size(1)).bool()
        logits = self.s * torch.where(onehot, torch.cos(theta + self.m), cosine)
        return F.cross_entropy(logits, y), logits


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model, head = ECAPA().to(device), AAMSoftmax(SPEAKERS).to(device)
    optimizer = torch.optim.Adam(list(model.parameters()) + list(head.parameters()), lr=1e-3, weight_decay=2e-5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.97)
    loader = DataLoader(Utterances(BATCH * STEPS, 3.0), batch_size=BATCH, shuffle=True, num_workers=WORKERS,
                        pin_memory=True, drop_last=True)
    model.train()
    for step, (wave, y) in enumerate(loader):
        wave, y = wave.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss, logits = head(model(wave, augment=True), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.3f} acc {(logits.argmax(1) == y).float().mean().item():.3f}")

    model.eval()
    embeddings = []
    with torch.no_grad():
        for wave, _ in DataLoader(Utterances(64, 12.0, seed=5000), batch_size=16, num_workers=WORKERS):
            embeddings.append(F.normalize(model(wave.to(device))))
    scores = torch.cat(embeddings)
    print("mean score", (scores @ scores.T).mean().item())


if __name__ == "__main__":
    main()
