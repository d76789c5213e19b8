"""Direct preference optimisation of a Qwen2 0.5B sized policy against a frozen bf16 reference model."""

import copy

import torch
import torch.nn.functional as F
from transformers import Qwen2Config, Qwen2ForCausalLM

BETA = 0.1
BATCH_SIZE = 2
PROMPT_LEN = 128
MAX_LEN = 512
STEPS = 4


def make_batch(vocab_size, pad_token_id, device):
    prompt = torch.randint(1, vocab_size, (BATCH_SIZE, PROMPT_LEN))
    sequences = {}
    for key in ("chosen", "rejected"):
        ids = torch.cat([prompt, torch.randint(1, vocab_size, (BATCH_SIZE, MAX_LEN - PROMPT_LEN))], dim=1)
        lengths = torch.randint(PROMPT_LEN + 64, MAX_LEN + 1, (BATCH_SIZE,))
        mask = torch.arange(MAX_LEN)[None, :] < lengths[:, None]
        labels = ids.masked_fill(~mask, -100)
        labels[:, :PROMPT_LEN] = -100
        sequences[key] = (ids.masked_fill(~mask, pad_token_id), mask.long(), labels)
    # chosen first, rejected second, one forward pass for both
    return [torch.cat([a, b], dim=0).to(device) for a, b in zip(sequences["chosen"], sequences["rejected"])]


def sequence_logps(logits, labels):
    labels = labels[:, 1:].clone()
    logits = logits[:, :-1, :]
    loss_mask = labels != -100
    labels[labels == -100] = 0
    per_token_logps = torch.gather(logits.float().log_softmax(-1), dim=2, index=labels.unsqueeze(2)).squeeze(2)
    return (per_token_logps * loss_mask).sum(-1)


torch.manual_seed(0)
device = torch.device("cuda")

config = Qwen2Config(
    vocab_size=151936,
    hidden_size=896,
    intermediate_size=4864,
    num_hidden_layers=24,
    num_attention_heads=14,
    num_key_value_heads=2,
    max_position_embeddings=2048,
    tie_word_embeddings=True,
    pad_token_id=0,
    use_cache=False,
)
with device:
    policy = Qwen2ForCausalLM(config)
reference = copy.deepcopy(policy).to(torch.bfloat16).eval()
reference.requires_grad_(False)
policy.train()

optimizer = torch.optim.RMSprop(policy.parameters(), lr=5e-7)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lambda step: min(1.0, (step + 1) / (150 + 1)))

for step in range(STEPS):
    input_ids, attention_mask, labels = make_batch(config.vocab_size, config.pad_token_id, device)

    with torch.no_grad():
        ref_logits = reference(input_ids=input_ids, attention_mask=attention_mask).logits
        ref_logps = sequence_logps(ref_logits, labels)

    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = policy(input_ids=input_ids, attention_mask=attention_mask).logits
    logps = sequence_logps(logits, labels)

    chosen, rejected = logps.chunk(2)
    ref_chosen, ref_rejected = ref_logps.chunk(2)
    margin = (chosen - rejected) - (ref_chosen - ref_rejected)
    loss = -F.logsigmoid(BETA * margin).mean()

    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
    optimizer.step()
    scheduler.step()
    acc = (margin > 0).float().mean().item()
    print(f"step {step} loss {loss.item():.4f} reward margin {BETA * margin.mean().item():.4f} acc {acc:.2f}")
