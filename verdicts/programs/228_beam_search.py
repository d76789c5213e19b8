"""A narrow beam works with plenty of room. Making it wider for better summaries gives CUDA out of memory after a while."""
import os

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
with torch.device("cuda"):
    model = GPT2LMHeadModel(GPT2Config(vocab_size=6000, n_layer=8, n_embd=768, n_head=12, n_positions=512)).eval()

articles = torch.randint(5, 6000, (24, 200), device="cuda")
settings = dict(max_new_tokens=24, min_new_tokens=24, do_sample=False, pad_token_id=0, eos_token_id=None)
if os.environ.get("CURED"):
    settings["num_beams"] = 3
else:
    settings["num_beams"] = 12

for start in range(0, len(articles), 24):
    batch = articles[start:start + 24]
    summaries = model.generate(batch, attention_mask=torch.ones_like(batch), **settings)
    print("summaries", tuple(summaries.shape), flush=True)
