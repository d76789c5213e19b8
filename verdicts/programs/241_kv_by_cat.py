"""Toy LLM server, a handful of chats at a time, KV cache appended with torch.cat. nvidia-smi shows nearly double what the caches add up to, until it crashes."""
import os
import random

import torch

random.seed(2)
LAYERS, HEADS, HEAD = 6, 16, 128
PAGE = 128


def page():
    return torch.empty(2, HEADS, PAGE, HEAD, dtype=torch.float16, device="cuda")


class Chat:
    def __init__(self, prompt):
        self.length = prompt
        self.wanted = prompt + random.randint(500, 1600)
        if os.environ.get("CURED"):
            self.kv = [[page() for _ in range(0, prompt, PAGE)] for _ in range(LAYERS)]
        else:
            self.kv = [torch.empty(2, HEADS, prompt, HEAD, dtype=torch.float16, device="cuda") for _ in range(LAYERS)]

    def extend(self, tokens):
        if os.environ.get("CURED"):
            for pages in self.kv:
                if len(pages) * PAGE < self.length + tokens:
                    pages.append(page())
        else:
            for i, kv in enumerate(self.kv):
                new = torch.randn(2, HEADS, tokens, HEAD, dtype=torch.float16, device="cuda")
                self.kv[i] = torch.cat([kv, new], dim=2)
                del kv, new
        self.length += tokens

    def finished(self):
        return self.length >= self.wanted


@torch.inference_mode()
def serve(rounds=400, concurrent=7):
    chats, served = [], 0
    for r in range(rounds):
        chats = [c for c in chats if not c.finished()]
        while len(chats) < concurrent:
            chats.append(Chat(random.randint(400, 3500)))
            served += 1
        for c in chats:
            c.extend(64)
        if r % 50 == 0:
            print("round", r, "served", served, flush=True)


serve()
