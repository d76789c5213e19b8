"""Fine-tune a Video Swin-T (torchvision swin3d_t) in fp32 with AdamW and a linear warmup."""

import torch
import torch.nn.functional as F
from torchvision.models.video import swin3d_t

torch.manual_seed(42)
device = torch.device("cuda")

num_classes = 400
batch_size = 4
clip_len = 16
num_steps = 4
warmup_steps = 2

model = swin3d_t(weights=None, num_classes=num_classes)
model = model.to(device)
model.train()

# no weight decay on norms, biases and relative position tables
decay, no_decay = [], []
for name, param in model.named_parameters():
    if param.ndim == 1 or "relative_position_bias_table" in name:
        no_decay.append(param)
    else:
        decay.append(param)

optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.02}, {"params": no_decay, "weight_decay": 0.0}], lr=3e-4, betas=(0.9, 0.999)
)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup_steps))

mean = torch.tensor([0.485, 0.456, 0.406], device=device).view(1, 3, 1, 1, 1)
std = torch.tensor([0.229, 0.224, 0.225], device=device).view(1, 3, 1, 1, 1)

for step in range(num_steps):
    video = torch.randint(0, 256, (batch_size, 3, clip_len, 224, 224), dtype=torch.uint8)
    target = torch.randint(0, num_classes, (batch_size,))

    video = video.to(device).float().div_(255.0)
    video = (video - mean) / std
    target = target.to(device)

    optimizer.zero_grad()
    output = model(video)
    loss = F.cross_entropy(output, target)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=40.0)
    optimizer.step()
    scheduler.step()

    top5 = (output.topk(5, dim=1).indices == target[:, None]).any(dim=1).float().mean()
    print(f"[{step + 1}/{num_steps}] loss={loss.item():.4f} top5={top5.item():.3f} grad_norm={grad_norm.item():.3f}")
