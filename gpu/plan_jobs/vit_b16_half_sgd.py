"""ViT-B/16 with pure fp16 weights, a static loss scale and SGD with momentum."""
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import vit_b_16
from torchvision.transforms import v2

EPOCHS = 1
BATCH = 96
SCALE = 256.0
CLASSES = 200


def main():
    torch.manual_seed(3)
    device = torch.device("cuda")

    model = vit_b_16(weights=None, num_classes=CLASSES, dropout=0.1)
    model.half().to(device)
    # normalization layers and the position embedding get no weight decay
    with_decay, without = [], []
    for name, p in model.named_parameters():
        if p.ndim == 1 or "pos_embedding" in name or "class_token" in name:
            without.append(p)
        else:
            with_decay.append(p)
    optimizer = torch.optim.SGD(
        [{"params": with_decay, "weight_decay": 1e-4}, {"params": without, "weight_decay": 0.0}],
        lr=1e-3,
        momentum=0.9,
    )

    images = torch.randint(0, 256, (5 * BATCH, 3, 232, 232), dtype=torch.uint8)
    labels = torch.randint(0, CLASSES, (5 * BATCH,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=BATCH, shuffle=True, drop_last=True)
    augment = v2.Compose([
        v2.RandomCrop(224),
        v2.ToDtype(torch.float16, scale=True),
        v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
    ])

    model.train()
    for epoch in range(EPOCHS):
        for step, (x, y) in enumerate(loader):
            x = augment(x.to(device))
            y = y.to(device)
            logits = model(x).float()
            loss = F.cross_entropy(logits, y)
            (loss * SCALE).backward()
            for p in model.parameters():
                p.grad.div_(SCALE)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            print(f"epoch {epoch} step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
