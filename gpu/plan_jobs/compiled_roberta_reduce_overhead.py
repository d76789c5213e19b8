"""Token classification with a RoBERTa from transformers, trained with mode="reduce-overhead" under autocast."""
import torch
from transformers import RobertaConfig, RobertaForTokenClassification, get_linear_schedule_with_warmup

SEQ, BATCH, STEPS, LABELS = 256, 32, 6, 9

torch.manual_seed(42)
torch.set_float32_matmul_precision("high")
config = RobertaConfig(
    vocab_size=50265, hidden_size=768, num_hidden_layers=6, num_attention_heads=12, intermediate_size=3072,
    max_position_embeddings=514, type_vocab_size=1, num_labels=LABELS, pad_token_id=1,
)
model = RobertaForTokenClassification(config).to("cuda").train()
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f}M parameters")

no_decay = ("bias", "LayerNorm.weight")
groups = [
    {"params": [p for n, p in model.named_parameters() if not n.endswith(no_decay)], "weight_decay": 0.01},
    {"params": [p for n, p in model.named_parameters() if n.endswith(no_decay)], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=3e-5)
scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=STEPS)
compiled = torch.compile(model, mode="reduce-overhead")


def make_batch():
    """Fixed-length padding, as CUDA graphs want it."""
    input_ids = torch.randint(5, 50000, (BATCH, SEQ))
    lengths = torch.randint(SEQ // 2, SEQ + 1, (BATCH,))
    mask = (torch.arange(SEQ)[None] < lengths[:, None]).long()
    input_ids[mask == 0] = 1
    labels = torch.randint(0, LABELS, (BATCH, SEQ))
    labels[mask == 0] = -100
    return {"input_ids": input_ids.cuda(), "attention_mask": mask.cuda(), "labels": labels.cuda()}


running = 0.0
for step in range(STEPS):
    batch = make_batch()
    torch.compiler.cudagraph_mark_step_begin()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = compiled(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    running += loss.item()
    print(f"step {step} loss {running / (step + 1):.4f} lr {scheduler.get_last_lr()[0]:.2e}")
