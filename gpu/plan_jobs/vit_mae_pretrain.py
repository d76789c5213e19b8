"""ViT-MAE base pre-training with bf16 autocast, gradient accumulation and AdamW (0.9, 0.95)."""

import math

import torch
from transformers import ViTMAEConfig, ViTMAEForPreTraining

torch.manual_seed(0)
device = torch.device("cuda")

batch_size = 96
accum_iter = 2
num_updates = 3
base_lr = 1.5e-4
warmup_updates = 1

config = ViTMAEConfig(mask_ratio=0.75, norm_pix_loss=True)
model = ViTMAEForPreTraining(config).to(device)
model.train()

decay, no_decay = [], []
for name, p in model.named_parameters():
    if not p.requires_grad:
        continue  # fixed sin-cos position embeddings
    (no_decay if p.ndim == 1 or name.endswith("bias") or "token" in name else decay).append(p)
param_groups = [{"params": no_decay, "weight_decay": 0.0}, {"params": decay, "weight_decay": 0.05}]

lr = base_lr * batch_size * accum_iter / 256
optimizer = torch.optim.AdamW(param_groups, lr=lr, betas=(0.9, 0.95))


def adjust_learning_rate(update):
    if update < warmup_updates:
        cur = lr * (update + 1) / (warmup_updates + 1)
    else:
        cur = lr * 0.5 * (1.0 + math.cos(math.pi * (update - warmup_updates) / (num_updates - warmup_updates)))
    for group in optimizer.param_groups:
        group["lr"] = cur
    return cur


optimizer.zero_grad()
for update in range(num_updates):
    cur_lr = adjust_learning_rate(update)
    running = 0.0
    for _ in range(accum_iter):
        pixel_values = torch.rand(batch_size, 3, 224, 224, device=device)
        pixel_values = (pixel_values - 0.5) / 0.25
        with torch.autocast("cuda", dtype=torch.bfloat16):
            outputs = model(pixel_values=pixel_values)
            loss = outputs.loss / accum_iter
        loss.backward()
        running += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(f"update {update} lr {cur_lr:.2e} loss {running:.4f} masked {int(outputs.mask[0].sum())} patches")

model.eval()
with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
    outputs = model(pixel_values=torch.rand(16, 3, 224, 224, device=device))
    images = model.unpatchify(outputs.logits)
print("reconstruction", tuple(images.shape), f"eval loss {outputs.loss.item():.4f}")
