"""Chat server with a GPT-2 sized-down model. It answers some seventy requests and then each request fails with CUDA out of memory."""
import os
import uuid

import torch
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel

config = GPT2Config(vocab_size=3000, n_embd=512, n_layer=8, n_head=8, n_positions=512)
with torch.device("cuda"):
    model = GPT2LMHeadModel(config).eval()

sessions = {}


@torch.inference_mode()
def reply(session_id, prompt, max_words=3):
    cache = sessions.setdefault(session_id, DynamicCache())
    ids = prompt.to("cuda")
    answer = []
    for _ in range(max_words):
        out = model(input_ids=ids, past_key_values=cache, use_cache=True)
        ids = out.logits[:, -1:].argmax(-1).clamp(0, 2999)
        answer.append(ids)
    return torch.cat(answer, 1)


def handle(n_requests):
    for r in range(n_requests):
        sid = uuid.uuid4().hex  # most visitors come once
        prompt = torch.randint(0, 3000, (1, 300 + r % 100))
        reply(sid, prompt)
        if os.environ.get("CURED") and len(sessions) > 8:
            sessions.pop(next(iter(sessions)))
        if r % 10 == 0:
            print("request", r, "sessions", len(sessions), flush=True)


handle(120)
