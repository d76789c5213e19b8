"""Class-incremental learning: for each new task I add a classifier head and tell the optimizer about it. Out of memory at task 26, with the same batch size as task 1."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda"


class Expert(nn.Sequential):
    def __init__(self, feat=1024):
        super().__init__(nn.Linear(feat, 4096), nn.ReLU(), nn.Linear(4096, 100))


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3072, 1024), nn.ReLU())
        self.heads = nn.ModuleDict()

    def forward(self, x, task):
        return self.heads[str(task)](self.trunk(x))


with torch.device(DEV):
    learner = Learner()
opt = torch.optim.AdamW(learner.trunk.parameters(), lr=1e-3)

for task in range(45):
    with torch.device(DEV):
        learner.heads[str(task)] = Expert()
    if os.environ.get("CURED") and task > 0:
        old = learner.heads[str(task - 1)].requires_grad_(False).cpu()
        old.zero_grad()
        for p in opt.param_groups.pop()["params"]:
            opt.state.pop(p, None)
    opt.add_param_group({"params": learner.heads[str(task)].parameters(), "lr": 1e-3})
    for _ in range(4):
        x, y = torch.rand(128, 3072, device=DEV), torch.randint(0, 100, (128,), device=DEV)
        opt.zero_grad(set_to_none=False)
        F.cross_entropy(learner(x, task), y).backward()
        opt.step()
    print("task", task, "groups", len(opt.param_groups), flush=True)
