"""Long context (8192) training of a 300M Llama in pure bf16 with fused AdamW and gradient checkpointing."""

import math

import torch
from transformers import LlamaConfig, LlamaForCausalLM

context_length = 8192
batch_size = 2
max_steps = 4
warmup_steps = 2
max_lr = 3e-4
min_lr = 3e-5
grad_clip = 1.0
device = torch.device("cuda")

torch.manual_seed(1337)
torch.set_float32_matmul_precision("high")


def get_lr(step):
    if step < warmup_steps:
        return max_lr * (step + 1) / warmup_steps
    ratio = (step - warmup_steps) / max(1, max_steps - warmup_steps)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (max_lr - min_lr)


config = LlamaConfig(
    vocab_size=32000,
    hidden_size=1024,
    intermediate_size=2816,
    num_hidden_layers=22,
    num_attention_heads=16,
    num_key_value_heads=8,
    max_position_embeddings=context_length,
    rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
    use_cache=False,
)
model = LlamaForCausalLM(config).to(device=device, dtype=torch.bfloat16)
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
model.train()
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.0f}M parameters")

decay = [p for p in model.parameters() if p.dim() >= 2]
no_decay = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "weight_decay": 0.0}],
    lr=max_lr,
    betas=(0.9, 0.95),
    fused=True,
)

for step in range(max_steps):
    lr = get_lr(step)
    for group in optimizer.param_groups:
        group["lr"] = lr

    input_ids = torch.randint(0, config.vocab_size, (batch_size, context_length), device=device)
    loss = model(input_ids=input_ids, labels=input_ids).loss
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"step {step} | lr {lr:.2e} | loss {loss.item():.4f} | norm {norm.item():.3f}")
