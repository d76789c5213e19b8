"""GPT-like model on source code. Validation loss needs more memory than training although it is under torch.no_grad(), I thought that is impossible."""
import os
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

cfg = GPT2Config(vocab_size=32000, n_embd=256, n_layer=4, n_head=4, n_positions=512)
with torch.device("cuda"):
    model = GPT2LMHeadModel(cfg)
opt = torch.optim.AdamW(model.parameters(), lr=6e-4)


def get_batch(split):
    n = 4 if split == "train" or os.environ.get("CURED") else 64
    ids = torch.randint(0, 32000, (n, 256))
    return ids.to("cuda", non_blocking=True)


def lm_loss(ids):
    logits = model(input_ids=ids).logits
    return F.cross_entropy(logits[:, :-1].reshape(-1, 32000), ids[:, 1:].reshape(-1))


@torch.no_grad()
def estimate_loss(iters=4):
    model.eval()
    losses = [lm_loss(get_batch("val")).item() for _ in range(iters)]
    model.train()
    return sum(losses) / iters


for it in range(24):
    if it % 12 == 11:
        print("iter", it, "val", estimate_loss(), flush=True)
    loss = lm_loss(get_batch("train"))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
print("finished")
