"""Offline semantic segmentation of many pictures with a BEiT-UperNet model in fp16 under inference_mode."""
import torch
import torch.nn.functional as F
from transformers import BeitConfig, BeitForSemanticSegmentation

SIZE = 512
CLASSES = 150
BATCH = 24


def build():
    config = BeitConfig(
        image_size=SIZE,
        patch_size=16,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
        use_relative_position_bias=True,
        use_absolute_position_embeddings=False,
        out_indices=[3, 5, 7, 11],
        num_labels=CLASSES,
        use_auxiliary_head=False,
    )
    return BeitForSemanticSegmentation(config)


def pictures(n):
    gen = torch.Generator().manual_seed(77)
    for start in range(0, n, BATCH):
        count = min(BATCH, n - start)
        yield torch.randint(0, 256, (count, 3, SIZE, SIZE), dtype=torch.uint8, generator=gen)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = build().eval().to(device, torch.float16)
    mean = torch.full((1, 3, 1, 1), 0.5, device=device, dtype=torch.float16)
    histogram = torch.zeros(CLASSES, dtype=torch.long)

    with torch.inference_mode():
        for i, batch in enumerate(pictures(4 * BATCH + 10)):
            pixels = batch.to(device).half().div_(255)
            pixels = (pixels - mean) / mean
            logits = model(pixel_values=pixels).logits
            logits = F.interpolate(logits, size=(SIZE, SIZE), mode="bilinear", align_corners=False)
            confidence, labels = logits.softmax(dim=1).max(dim=1)
            labels = labels.masked_fill(confidence < 1.0 / CLASSES, 0)
            histogram += torch.bincount(labels.flatten().cpu(), minlength=CLASSES)
            print(f"batch {i}: {tuple(labels.shape)}")
    print("most common classes", histogram.topk(5).indices.tolist())


if __name__ == "__main__":
    main()
