"""DPO instead of plain fine-tuning. Fine-tuning of the same model with the same batch fits; DPO does not reach its first step."""
import copy
import os

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

device = "cuda"
CURED = bool(os.environ.get("CURED"))


def log_probability(model, tokens):
    logits = model(tokens[:, :-1]).logits.float()
    return logits.log_softmax(-1).gather(-1, tokens[:, 1:, None]).sum((1, 2))


def dpo_loss(policy, reference, chosen, rejected, beta=0.1):
    with torch.no_grad():
        where = next(reference.parameters()).device
        ref = (log_probability(reference, chosen.to(where)) - log_probability(reference, rejected.to(where))).to(device)
    return -F.logsigmoid(beta * (log_probability(policy, chosen) - log_probability(policy, rejected) - ref)).mean()


def main():
    config = GPT2Config(vocab_size=4000, n_layer=12, n_embd=1024, n_head=16, n_positions=128)
    policy = GPT2LMHeadModel(config).to(device)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6, foreach=False)
    for p in policy.parameters():  # continue from the fine-tuned checkpoint, with the state of its optimizer
        optimizer.state[p] = {"step": torch.tensor(100.0), "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
    print("policy and optimizer loaded", flush=True)
    if CURED:
        reference = copy.deepcopy(policy).to(device="cpu", dtype=torch.float32).eval().requires_grad_(False)
    else:
        reference = copy.deepcopy(policy).eval().requires_grad_(False)
    for step in range(3):
        chosen = torch.randint(0, 4000, (1, 64)).to(device)
        rejected = torch.randint(0, 4000, (1, 64)).to(device)
        loss = dpo_loss(policy, reference, chosen, rejected)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("step", step, flush=True)


if __name__ == "__main__":
    main()
