"""DPO on a Phi model with hand-written LoRA; the reference log-probabilities come from the same model with the
adapters switched off. Frozen weights in bf16, adapters in fp32, gradient checkpointing, gradient accumulation."""
import contextlib
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import PhiConfig, PhiForCausalLM, get_cosine_schedule_with_warmup

MICRO_BATCH = 4
ACCUM = 4
UPDATES = 3
PROMPT, ANSWER = 256, 512
RANK, ALPHA = 32, 64
BETA = 0.1
VOCAB = 51200
HIDDEN, LAYERS, HEADS = 2048, 24, 32


class LoRALinear(nn.Module):
    enabled = True

    def __init__(self, base):
        super().__init__()
        self.base = base
        self.A = nn.Parameter(torch.empty(RANK, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, RANK))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.dropout = nn.Dropout(0.05)

    def forward(self, x):
        y = self.base(x)
        if LoRALinear.enabled:
            delta = F.linear(F.linear(self.dropout(x).to(self.A.dtype), self.A), self.B)
            y = y + (delta * (ALPHA / RANK)).to(y.dtype)
        return y


@contextlib.contextmanager
def adapters_off():
    LoRALinear.enabled = False
    try:
        yield
    finally:
        LoRALinear.enabled = True


def add_lora(model, names):
    for p in model.parameters():
        p.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in names and isinstance(child, nn.Linear):
                setattr(module, name, LoRALinear(child))


def sequence_logps(model, ids, mask, answer_mask):
    logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1]
    targets = ids[:, 1:]
    logps = torch.gather(logits.float().log_softmax(-1), 2, targets.unsqueeze(-1)).squeeze(-1)
    return (logps * answer_mask[:, 1:]).sum(-1)


def preference_batch(n, device):
    """chosen rows first, rejected rows after; both share the prompt and are padded on the right."""
    prompt = torch.randint(10, VOCAB, (n, PROMPT))
    ids = torch.cat([torch.cat([prompt, prompt]), torch.randint(10, VOCAB, (2 * n, ANSWER))], 1)
    lengths = PROMPT + torch.randint(ANSWER // 4, ANSWER + 1, (2 * n,))
    keep = int(lengths.max())
    ids = ids[:, :keep]
    pos = torch.arange(keep)[None]
    mask = pos < lengths[:, None]
    answer = mask & (pos >= PROMPT)
    return ids.to(device), mask.long().to(device), answer.float().to(device)


def main():
    torch.manual_seed(99)
    device = torch.device("cuda")
    config = PhiConfig(vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=4 * HIDDEN, num_hidden_layers=LAYERS,
                       num_attention_heads=HEADS, max_position_embeddings=2048, partial_rotary_factor=0.5)
    model = PhiForCausalLM(config).to(torch.bfloat16)
    add_lora(model, {"q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2"})
    model.to(device)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()

    trainable = [p for p in model.parameters() if p.requires_grad]
    print(f"trainable {sum(p.numel() for p in trainable) / 1e6:.1f}M")
    optimizer = torch.optim.AdamW(trainable, lr=5e-5, weight_decay=0.0)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 1, UPDATES)

    for update in range(UPDATES):
        total, wins = 0.0, 0.0
        for _ in range(ACCUM):
            ids, mask, answer = preference_batch(MICRO_BATCH, device)
            with torch.no_grad(), adapters_off():
                ref = sequence_logps(model, ids, mask, answer)
            logps = sequence_logps(model, ids, mask, answer)
            margin = BETA * (logps - ref)
            chosen, rejected = margin.chunk(2)
            loss = -F.logsigmoid(chosen - rejected).mean()
            (loss / ACCUM).backward()
            total += loss.item() / ACCUM
            wins += (chosen > rejected).float().mean().item() / ACCUM
        torch.nn.utils.clip_grad_norm_(trainable, 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        print(f"update {update} loss {total:.4f} accuracy {wins:.2f}")


if __name__ == "__main__":
    main()
