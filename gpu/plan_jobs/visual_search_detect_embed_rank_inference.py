"""Inference pipeline with three models: Faster R-CNN proposes objects, ConvNeXt-Base in half precision embeds the crops,
a gallery on the GPU is searched, and a ViT re-ranks the best crop pairs."""
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import convnext_base, vit_b_16
from torchvision.models.detection import fasterrcnn_resnet50_fpn_v2
from torchvision.ops import roi_align

BATCHES = 4
BATCH = 8
HEIGHT, WIDTH = 720, 1280
GALLERY = 2_000_000
DIM = 1024
TOPK = 20
EMBED_CHUNK = 256
DETECTIONS = 60


@torch.inference_mode()
def build_gallery(device):
    gallery = torch.empty(GALLERY, DIM, dtype=torch.float16, device=device)
    for chunk in gallery.split(100_000):
        chunk.copy_(F.normalize(torch.randn(chunk.shape, device=device), dim=-1))
    return gallery


@torch.inference_mode()
def embed(model, crops):
    out = []
    for chunk in crops.split(EMBED_CHUNK):
        feats = model(chunk.half().contiguous(memory_format=torch.channels_last))
        out.append(F.normalize(feats.float(), dim=-1).half())
    return torch.cat(out)


@torch.inference_mode()
def process(images, detector, embedder, reranker, gallery):
    results = detector(list(images))
    boxes = [r["boxes"] for r in results]
    crops = roi_align(images, boxes, output_size=(224, 224), sampling_ratio=2)
    crops = (crops - 0.45) / 0.225
    query = embed(embedder, crops)

    scores, index = [], []
    for q in query.split(128):
        s, i = (q @ gallery.T).topk(TOPK, dim=-1)
        scores.append(s)
        index.append(i)
    scores, index = torch.cat(scores), torch.cat(index)

    best = scores[:, 0].argsort(descending=True)[:64]
    with torch.autocast("cuda", dtype=torch.bfloat16):
        final = reranker(crops[best]).sigmoid()
    return len(crops), index[best, 0], final.mean().item()


def main():
    torch.manual_seed(5)
    device = torch.device("cuda")
    detector = fasterrcnn_resnet50_fpn_v2(weights=None, weights_backbone=None, box_score_thresh=0.0,
                                          box_detections_per_img=DETECTIONS).to(device).eval()
    embedder = convnext_base(weights=None)
    embedder.classifier[-1] = nn.Identity()
    embedder = embedder.to(device, dtype=torch.float16, memory_format=torch.channels_last).eval()
    reranker = vit_b_16(weights=None, num_classes=1).to(device).eval()
    gallery = build_gallery(device)

    for b in range(BATCHES):
        images = torch.rand(BATCH, 3, HEIGHT, WIDTH).to(device)
        t0 = time.perf_counter()
        n, ids, score = process(images, detector, embedder, reranker, gallery)
        print(f"batch {b}: {n} crops, first match {ids[0].item()}, score {score:.3f}, {time.perf_counter() - t0:.2f}s")


if __name__ == "__main__":
    main()
