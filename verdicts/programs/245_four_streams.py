"""Four detectors run side by side, each on its own stream. One after the other on a single stream they need half the memory; here the last cameras are too much."""
import os

import torch

CAMERAS = 9


class Detector:
    def __init__(self, index):
        self.stream = torch.cuda.default_stream() if os.environ.get("CURED") else torch.cuda.Stream()
        self.net = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda().eval()
        self.background = []

    @torch.no_grad()
    def __call__(self, pixels):
        with torch.cuda.stream(self.stream):
            patches = torch.randn(pixels, 512, device="cuda")
            h = self.net(patches)
            self.background.append(h[: pixels // 4].sqrt())  # running model of the scene
            self.background = self.background[-3:]
            return int(h.shape[0])


detectors = [Detector(i) for i in range(4)]
sizes = [30_000, 42_000, 56_000, 70_000, 84_000, 96_000, 108_000, 118_000, 126_000]
for camera in range(CAMERAS):
    seen = sum(d(sizes[camera]) for d in detectors)
    torch.cuda.synchronize()
    print("camera", camera, seen, flush=True)
