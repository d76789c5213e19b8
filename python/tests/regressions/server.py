"""A model that answers requests."""

import torch
from torch import nn

WIDTH = 1024
WORDS = 8000

dtype = torch.half
weights = [torch.zeros(WIDTH, WIDTH, device="cuda", dtype=dtype) for _ in range(4)]
head = torch.zeros(WORDS, WIDTH, device="cuda", dtype=dtype)
answers = []


def layer(x, weight):
    x = nn.functional.linear(x, weight)
    return nn.functional.silu(x)


def forward(x):
    for weight in weights:
        x = layer(x, weight)
    last = x[:, -1]
    return nn.functional.linear(last, head)


@torch.inference_mode()
def answer(length):
    x = torch.zeros(2, length, WIDTH, device="cuda", dtype=dtype)
    scores = forward(x)
    best = scores.argmax(-1)
    answers.append(best.cpu())


for length in (256, 512, 384, 512, 128, 512):
    answer(length)
