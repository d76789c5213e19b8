"""Large batch fp16 inference with ConvNeXt-Large under torch.inference_mode, top-5 predictions and logits."""

import time

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.models import convnext_large

BATCH_SIZE = 512
NUM_BATCHES = 4


class RandomImages(Dataset):
    """uint8 images; a small pool is reused so that the data set is cheap to build."""

    def __init__(self, length, pool=64):
        self.length = length
        self.images = torch.randint(0, 256, (pool, 3, 224, 224), dtype=torch.uint8)

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return self.images[index % len(self.images)], index


def main():
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda")

    with device:
        model = convnext_large(weights=None)
    model = model.half().eval()

    mean = torch.tensor([0.485, 0.456, 0.406], device=device, dtype=torch.float16).view(1, 3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225], device=device, dtype=torch.float16).view(1, 3, 1, 1)
    loader = DataLoader(RandomImages(BATCH_SIZE * NUM_BATCHES), batch_size=BATCH_SIZE, num_workers=0)

    all_logits = []
    top5 = []
    start = time.time()
    with torch.inference_mode():
        for images, _ in loader:
            images = images.to(device, non_blocking=True)
            images = (images.half() / 255.0 - mean) / std
            logits = model(images)
            top5.append(logits.topk(5, dim=1).indices.cpu())
            all_logits.append(logits)
    torch.cuda.synchronize()
    elapsed = time.time() - start

    all_logits = torch.cat(all_logits)
    top5 = torch.cat(top5)
    print(f"{len(top5)} images in {elapsed:.2f} s ({len(top5) / elapsed:.1f} images/s)")
    print(f"mean max probability {all_logits.float().softmax(dim=1).max(dim=1).values.mean().item():.5f}")
    print(f"distinct top-1 classes {top5[:, 0].unique().numel()}")


if __name__ == "__main__":
    main()
