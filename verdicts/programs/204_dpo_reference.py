"""SFT of this model needs 3 GB. DPO of the same model with the same batch dies before the first update is done."""
import copy
import os

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

VOCAB, BETA = 8000, 0.1


def sequence_logp(model, ids):
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    return -F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none").sum(1)


def preferences(n, length=96):
    for _ in range(n):
        yield torch.randint(0, VOCAB, (2, length), device="cuda"), torch.randint(0, VOCAB, (2, length), device="cuda")


def main():
    config = GPT2Config(vocab_size=VOCAB, n_layer=14, n_embd=1024, n_head=16, n_positions=256)
    with torch.device("cuda"):
        policy = GPT2LMHeadModel(config)
    data = list(preferences(6))

    if os.environ.get("CURED"):
        with torch.no_grad():
            ref_scores = [(sequence_logp(policy, c).cpu(), sequence_logp(policy, r).cpu()) for c, r in data]
        reference = None
    else:
        reference = copy.deepcopy(policy).eval().requires_grad_(False)

    optimizer = torch.optim.AdamW(policy.parameters(), lr=5e-7, foreach=False)
    for i, (chosen, rejected) in enumerate(data):
        margin = sequence_logp(policy, chosen) - sequence_logp(policy, rejected)
        if reference is not None:
            with torch.no_grad():
                ref = sequence_logp(reference, chosen) - sequence_logp(reference, rejected)
        else:
            ref = (ref_scores[i][0] - ref_scores[i][1]).cuda()
        loss = -F.logsigmoid(BETA * (margin - ref)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("pair batch", i, "loss", loss.item(), flush=True)


main()
