"""EfficientNetV2-S at 300 px with sharpness-aware minimization (two passes per step), TF32 matmuls."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import efficientnet_v2_s

BATCH = 48
SIZE = 300
CLASSES = 200
STEPS = 5
RHO = 0.05


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                e_w = (torch.pow(p, 2) if group["adaptive"] else 1.0) * p.grad * scale.to(p)
                p.add_(e_w)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def _grad_norm(self):
        return torch.norm(
            torch.stack([
                ((torch.abs(p) if group["adaptive"] else 1.0) * p.grad).norm(p=2)
                for group in self.param_groups
                for p in group["params"]
                if p.grad is not None
            ]),
            p=2,
        )


def disable_running_stats(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.backup_momentum = m.momentum
            m.momentum = 0.0


def enable_running_stats(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d) and hasattr(m, "backup_momentum"):
            m.momentum = m.backup_momentum


def main():
    torch.manual_seed(3)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    device = torch.device("cuda")

    images = torch.randn(BATCH * STEPS, 3, SIZE, SIZE)
    labels = torch.randint(0, CLASSES, (BATCH * STEPS,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=BATCH, shuffle=True, pin_memory=True)

    model = efficientnet_v2_s(weights=None, num_classes=CLASSES).to(device)
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=RHO, adaptive=True, lr=0.05, momentum=0.9,
                    weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer.base_optimizer, T_max=STEPS)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    model.train()
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)

        enable_running_stats(model)
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.first_step(zero_grad=True)

        disable_running_stats(model)
        criterion(model(x), y).backward()
        optimizer.second_step(zero_grad=True)

        scheduler.step()
        print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
