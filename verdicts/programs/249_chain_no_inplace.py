"""Video normalisation before inference. A clip is 600 MB and everything is under no_grad, still these five simple lines do not work within 3 GB."""
import os

import torch


@torch.no_grad()
def normalise(clip, mean, std, gain):
    if os.environ.get("CURED"):
        return clip.sub_(mean).div_(std).clamp_(-3, 3).mul_(gain).sub_(clip.mean((2, 3), keepdim=True))
    centred = clip - mean
    scaled = centred / std
    clipped = scaled.clamp(-3, 3)
    gained = clipped * gain
    return gained - gained.mean((2, 3), keepdim=True)


def clips(n, frames=100, height=720, width=728):
    for _ in range(n):
        yield torch.empty(frames, 3, height, width, device="cuda")


if __name__ == "__main__":
    per_channel = lambda v: torch.full((1, 3, 1, 1), v, device="cuda")
    mean, std, gain = per_channel(0.45), per_channel(0.22), per_channel(1.1)
    for i, clip in enumerate(clips(6)):
        out = normalise(clip, mean, std, gain)
        print("clip", i, out.mean().item(), flush=True)
        del out, clip
