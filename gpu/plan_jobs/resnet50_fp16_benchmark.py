"""ImageNet-style ResNet-50 training with fp16 autocast, GradScaler, cosine schedule and cudnn.benchmark."""
import time

import torch
import torch.nn as nn
import torchvision

torch.backends.cudnn.benchmark = True
torch.manual_seed(42)

BATCH = 192
CROP = 192
STEPS = 6
device = torch.device("cuda:0")


def param_groups(model, weight_decay):
    """No weight decay on biases and normalization weights."""
    decay, plain = [], []
    for p in model.parameters():
        (plain if p.ndim <= 1 else decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]


def batches(n):
    pool = torch.randint(0, 256, (BATCH, 3, CROP, CROP), dtype=torch.uint8).pin_memory()
    for _ in range(n):
        labels = torch.randint(0, 1000, (BATCH,))
        yield pool, labels


model = torchvision.models.resnet50(weights=None, zero_init_residual=True).to(device)
optimizer = torch.optim.SGD(param_groups(model, 5e-5), lr=0.5, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
scaler = torch.amp.GradScaler()
mean = torch.tensor([123.675, 116.28, 103.53], device=device).view(1, 3, 1, 1)
std = torch.tensor([58.395, 57.12, 57.375], device=device).view(1, 3, 1, 1)

model.train()
start = time.time()
for step, (images, labels) in enumerate(batches(STEPS)):
    images = images.to(device, non_blocking=True).float().sub_(mean).div_(std)
    labels = labels.to(device, non_blocking=True)
    with torch.autocast(device_type="cuda", dtype=torch.float16):
        output = model(images)
        loss = criterion(output, labels)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    if step % 2 == 0:
        top1 = (output.detach().argmax(1) == labels).float().mean()
        print(f"step {step} loss {loss.item():.3f} top1 {top1.item():.3f}")

torch.cuda.synchronize()
print(f"{STEPS * BATCH / (time.time() - start):.0f} images/s")
