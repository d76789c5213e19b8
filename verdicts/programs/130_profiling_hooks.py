"""Inference benchmark: I time every layer with hooks, for each batch anew. The longer the benchmark, the slower the layers, and then there's an OOM."""
import os
import time

import torch
import torch.nn as nn

device = torch.device("cuda")


class Profile:
    def __init__(self, model):
        self.records, self.handles = [], []
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                self.handles.append(module.register_forward_hook(self.hook(name)))

    def hook(self, name):
        def after(module, inputs, output):
            self.records.append({"layer": name, "time": time.perf_counter(), "in": inputs, "out": output})
        return after

    def report(self):
        return {r["layer"]: tuple(r["out"].shape) for r in self.records}

    def remove(self):
        for h in self.handles:
            h.remove()


def bench(model, batches):
    shapes = {}
    for i in range(batches):
        p = Profile(model)
        with torch.inference_mode():
            model(torch.rand(512, 256, device=device))
        shapes.update(p.report())
        if os.environ.get("CURED"):
            p.remove()
            del p
        if i % 10 == 0:
            print("batch", i, len(shapes), flush=True)


with device:
    layers = [nn.Linear(256, 1024), nn.ReLU()] + [m for _ in range(4) for m in (nn.Linear(1024, 1024), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(1024, 1024)).eval()
bench(model, 120)
