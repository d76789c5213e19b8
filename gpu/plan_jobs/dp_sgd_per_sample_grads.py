"""Differentially private training: per-sample gradients of a ResNet-18 with torch.func, clipping and noise."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad_and_value, vmap
from torchvision.models import resnet18

BATCH = 64
CLIP = 1.0
NOISE = 0.8


def group_norm(channels):
    return nn.GroupNorm(32, channels)


def main():
    torch.manual_seed(11)
    device = torch.device("cuda")
    model = resnet18(weights=None, num_classes=100, norm_layer=group_norm)
    model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.maxpool = nn.Identity()
    model.to(device).train()

    params = dict(model.named_parameters())
    optimizer = torch.optim.SGD(params.values(), lr=0.1, momentum=0.9)

    def sample_loss(weights, image, label):
        logits = functional_call(model, weights, (image.unsqueeze(0),))
        return F.cross_entropy(logits, label.unsqueeze(0))

    per_sample = vmap(grad_and_value(sample_loss), in_dims=(None, 0, 0), randomness="different")

    for step in range(4):
        images = torch.randn(BATCH, 3, 32, 32).to(device)
        labels = torch.randint(0, 100, (BATCH,)).to(device)

        detached = {name: p.detach() for name, p in params.items()}
        grads, losses = per_sample(detached, images, labels)

        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factor = (CLIP / (norms + 1e-6)).clamp(max=1.0)
        for name, p in params.items():
            summed = torch.einsum("b,b...->...", factor, grads[name])
            summed += NOISE * CLIP * torch.randn_like(summed)
            p.grad = summed / BATCH
        del grads
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {losses.mean().item():.3f} norm {norms.mean().item():.3f}")


if __name__ == "__main__":
    main()
