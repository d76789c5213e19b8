"""Sensor stream anomaly model, a hand-written LSTM. Short recordings train fine, the 30 minute ones give CUDA out of memory."""
import os
import torch

W = 512
dev = torch.device("cuda")


class Cell(torch.nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.gates = torch.nn.Linear(n_in + W, 4 * W)
        self.head = torch.nn.Linear(W, n_in)

    def forward(self, x, state):
        h, c = state
        i, f, g, o = self.gates(torch.cat([x, h], -1)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return self.head(h), (h, c)


def one_recording(cell, opt, frames, cut=40):
    state = (torch.zeros(128, W, device=dev), torch.zeros(128, W, device=dev))
    loss = 0
    for t in range(frames.shape[0] - 1):
        pred, state = cell(frames[t], state)
        loss = loss + (pred - frames[t + 1]).square().mean()
        if os.environ.get("CURED") and t % cut == cut - 1:
            opt.zero_grad()
            loss.backward()
            opt.step()
            state = tuple(s.detach() for s in state)
            loss = 0
    if torch.is_tensor(loss):
        opt.zero_grad()
        loss.backward()
        opt.step()


cell = Cell(64).to(dev)
opt = torch.optim.Adam(cell.parameters(), lr=1e-3)
for minutes in (1, 2, 30):
    one_recording(cell, opt, torch.randn(40 * minutes, 128, 64, device=dev))
    print("recording of", minutes, "min done", flush=True)
