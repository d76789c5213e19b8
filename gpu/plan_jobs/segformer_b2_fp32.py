"""SegFormer-B2 semantic segmentation on 150 classes, fp32, single-tensor AdamW with a poly schedule."""

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import SegformerConfig, SegformerForSemanticSegmentation

NUM_LABELS = 150
SIZE = 512
BATCH_SIZE = 4
STEPS = 4


class SceneParsing(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(100 + idx)
        pixel_values = torch.randn(3, SIZE, SIZE, generator=g)
        cells = torch.randint(0, NUM_LABELS, (16, 16), generator=g)
        labels = cells.repeat_interleave(SIZE // 16, dim=0).repeat_interleave(SIZE // 16, dim=1).clone()
        labels[torch.rand(SIZE, SIZE, generator=g) < 0.02] = 255
        return {"pixel_values": pixel_values, "labels": labels}


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")

    config = SegformerConfig(
        depths=[3, 4, 6, 3],
        hidden_sizes=[64, 128, 320, 512],
        decoder_hidden_size=768,
        num_labels=NUM_LABELS,
        semantic_loss_ignore_index=255,
    )
    model = SegformerForSemanticSegmentation(config)
    model.to(device)

    head = [p for n, p in model.named_parameters() if n.startswith("decode_head")]
    backbone = [p for n, p in model.named_parameters() if not n.startswith("decode_head")]
    optimizer = torch.optim.AdamW(
        [{"params": backbone, "lr": 6e-5}, {"params": head, "lr": 6e-4}], weight_decay=0.01, foreach=False
    )
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=STEPS, power=1.0)
    loader = DataLoader(SceneParsing(BATCH_SIZE * STEPS), batch_size=BATCH_SIZE, shuffle=True, num_workers=0)

    model.train()
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        pixel_values = batch["pixel_values"].to(device)
        labels = batch["labels"].to(device)
        outputs = model(pixel_values=pixel_values, labels=labels)
        loss, logits = outputs.loss, outputs.logits
        loss.backward()
        optimizer.step()
        scheduler.step()

        with torch.no_grad():
            upsampled = torch.nn.functional.interpolate(
                logits, size=labels.shape[-2:], mode="bilinear", align_corners=False
            )
            predicted = upsampled.argmax(dim=1)
            valid = labels != 255
            acc = (predicted[valid] == labels[valid]).float().mean()
        print(f"step {step} loss {loss.item():.4f} pixel accuracy {acc.item():.4f}")


if __name__ == "__main__":
    main()
