"""Three losses on one backbone, each with its own backward. The first step works, the second one does not."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision

device = torch.device("cuda")


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = torchvision.models.VisionTransformer(224, 16, num_layers=8, num_heads=6, hidden_dim=384, mlp_dim=1536)
        self.backbone.heads = nn.Identity()
        self.heads = nn.ModuleDict({"age": nn.Linear(384, 1), "identity": nn.Linear(384, 1000), "pose": nn.Linear(384, 6)})

    def forward(self, x):
        features = self.backbone(x)
        return {name: head(features) for name, head in self.heads.items()}


def main():
    model = MultiHead().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in range(5):
        faces = torch.rand(48, 3, 224, 224).to(device)
        ages, names, poses = torch.rand(48, 1).to(device), torch.randint(0, 1000, (48,)).to(device), torch.rand(48, 6).to(device)
        out = model(faces)
        losses = [F.l1_loss(out["age"], ages), F.cross_entropy(out["identity"], names), F.mse_loss(out["pose"], poses)]
        optimizer.zero_grad()
        if os.environ.get("CURED"):
            sum(losses).backward()
        else:
            for loss in losses:
                loss.backward(retain_graph=True)
        optimizer.step()
        print("step", step, flush=True)


if __name__ == "__main__":
    main()
