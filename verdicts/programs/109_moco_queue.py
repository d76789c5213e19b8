"""MoCo-style training on spectrogram crops: it becomes slower and slower and finally the GPU is full. Memory at the start is only a few percent."""
import copy
import os
import torch
import torch.nn as nn
import torch.nn.functional as F


class MoCo(nn.Module):
    def __init__(self, dim=256, m=0.99, t=0.07, size=16384):
        super().__init__()
        self.q_enc = nn.Sequential(nn.Linear(80 * 96, 512), nn.ReLU(), nn.Linear(512, dim))
        self.k_enc = copy.deepcopy(self.q_enc).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=1))
        self.m, self.t, self.size = m, t, size

    @torch.no_grad()
    def _update_keys(self):
        for q, k in zip(self.q_enc.parameters(), self.k_enc.parameters()):
            k.mul_(self.m).add_(q, alpha=1 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        self.queue = torch.cat([keys, self.queue])
        if os.environ.get("CURED"):
            self.queue = self.queue[: self.size].clone()

    def forward(self, a, b):
        q = F.normalize(self.q_enc(a.flatten(1)), dim=1)
        with torch.no_grad():
            self._update_keys()
            k = F.normalize(self.k_enc(b.flatten(1)), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.T
        logits = torch.cat([pos, neg], 1) / self.t
        self._enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long, device=q.device))


model = MoCo().cuda()
opt = torch.optim.SGD(model.q_enc.parameters(), lr=0.03, momentum=0.9)
for i in range(200):
    crops = torch.randn(2, 1024, 80, 96, device="cuda")
    loss = model(crops[0], crops[1])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, "keys", len(model.queue), flush=True)
