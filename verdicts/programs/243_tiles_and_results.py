"""Satellite mosaics: work buffers come and go, the finished mosaic of each region stays on the GPU. Adding it all up I need 2.8 GB but 3.5 GB are not enough."""
import os

if os.environ.get("CURED"):
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:200"
import torch

MiB = 1 << 20


class Region:
    def __init__(self, name, work, result):
        self.name, self.work, self.result = name, work, result


REGIONS = [Region("north", [260, 260, 260, 260], 150), Region("south", [270, 270, 270, 270], 152),
           Region("east", [280, 280, 280, 280], 154), Region("west", [290, 290, 290, 290], 156),
           Region("islands", [300, 300, 300, 300], 158), Region("coast", [310, 310, 310, 310], 160)]


def buffer(size):
    return torch.empty(size * MiB, dtype=torch.uint8, device="cuda")


@torch.no_grad()
def mosaic(region):
    tiles = [buffer(m) for m in region.work]
    warped = [t.add_(1) for t in tiles]
    del tiles, warped
    parts = [buffer(region.result), buffer(region.result)]
    return parts


finished = {}
for region in REGIONS:
    finished[region.name] = mosaic(region)
    print(region.name, torch.cuda.memory_allocated() // MiB, "MiB in use", flush=True)
