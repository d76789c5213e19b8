"""Converted the model to half precision for serving, so it should take 0.25 GB and not 0.5, but large requests fail in 1.6 GB."""
import os

import torch
from torch import nn
from torch.func import functional_call


class Ranker(nn.Module):
    def __init__(self, dim=4096, depth=8):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.score = nn.Linear(dim, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x)) + x
        return self.score(x)


class Server:
    def __init__(self):
        with torch.device("meta"):
            self.model = Ranker()
        full = {k: torch.empty_like(v, device="cuda") for k, v in self.model.state_dict().items()}  # "weights.pt"
        self.weights = full
        if os.environ.get("CURED"):
            self.half = {k: self.weights.pop(k).half() for k in list(full)}
            self.weights = full = None
        else:
            self.half = {k: v.half() for k, v in full.items()}

    @torch.inference_mode()
    def answer(self, documents):
        return functional_call(self.model, self.half, (documents,))


server = Server()
print("ready,", torch.cuda.memory_allocated() >> 20, "MiB", flush=True)
for request in range(20):
    n = 4000 if request < 10 else 30_000
    server.answer(torch.randn(n, 4096, device="cuda", dtype=torch.half))
    print("request", request, n, flush=True)
