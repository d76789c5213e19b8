"""Self-distillation in the manner of DINO. Memory grows by the same amount with every step until it is full."""
import contextlib
import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision

device = torch.device("cuda")


class DINOLoss(nn.Module):
    def __init__(self, dim, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("center", torch.zeros(1, dim))

    def forward(self, student_out, teacher_out):
        targets = F.softmax((teacher_out - self.center) / 0.04, dim=-1).detach()
        loss = -(targets * F.log_softmax(student_out / 0.1, dim=-1)).sum(-1).mean()
        self.update_center(teacher_out)
        return loss

    def update_center(self, teacher_out):
        batch_center = teacher_out.mean(0, keepdim=True)
        self.center = self.center * self.momentum + batch_center * (1 - self.momentum)


def ema_update(student, teacher, m=0.996):
    for s, t in zip(student.parameters(), teacher.parameters()):
        t.data.mul_(m).add_(s.data, alpha=1 - m)


student = torchvision.models.resnet18(weights=None, num_classes=1024).to(device)
teacher = copy.deepcopy(student)
criterion = DINOLoss(1024).to(device)
optimizer = torch.optim.AdamW(student.parameters(), lr=5e-4)

for step in range(60):
    global_crop = torch.rand(16, 3, 160, 160).to(device)
    local_crop = torch.rand(16, 3, 96, 96).to(device)
    with torch.no_grad() if os.environ.get("CURED") else contextlib.nullcontext():
        teacher_out = teacher(global_crop)
    loss = criterion(student(local_crop), teacher_out)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema_update(student, teacher)
    if step % 10 == 0:
        print("step", step, flush=True)
