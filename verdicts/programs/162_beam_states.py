"""Beam search for my speech transducer. Short utterances decode, long ones run out of GPU memory. Everything runs in inference mode."""
import os
from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn as nn


@dataclass
class Hypothesis:
    token: torch.Tensor
    state: torch.Tensor
    score: torch.Tensor
    parent: Optional["Hypothesis"] = None

    def tokens(self):
        h, out = self, []
        while h is not None:
            out.append(int(h.token[0]))
            h = h.parent
        return out[::-1]


class Predictor(nn.Module):
    def __init__(self, vocab=1000, slots=64, d=512):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.write, self.mix, self.out = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, vocab)

    def forward(self, token, state):
        e = self.emb(token)[:, None]
        state = torch.tanh(self.mix(state) + self.write(e))
        return self.out(state.mean(1)).log_softmax(-1), state


@torch.inference_mode()
def beam_search(model, frames, utterances=16, beams=4):
    start = torch.zeros(utterances * beams, dtype=torch.long, device="cuda")
    best = Hypothesis(start, torch.zeros(utterances * beams, 64, 512, device="cuda"), torch.zeros(len(start), device="cuda"))
    for t in range(frames):
        logp, state = model(best.token, best.state)
        score, token = (best.score[:, None] + logp).max(-1)
        if os.environ.get("CURED"):
            best.state = None
        best = Hypothesis(token, state, score, parent=best)
        if t % 50 == 0:
            print("frame", t, flush=True)
    return best.tokens()


model = Predictor().cuda().eval()
for frames in (40, 60, 400):
    print(frames, "frames ->", len(beam_search(model, frames)), "tokens", flush=True)
