"""Batch scoring with a thread pool in front of the GPU model. It scores the first part of the catalogue and then CUDA OOM; one chunk at a time never fails."""
import os
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn

DEVICE = "cuda"


class Reranker(nn.Module):
    def __init__(self, d=512):
        super().__init__()
        self.q = nn.Linear(128, d)
        self.doc = nn.Sequential(nn.Linear(128, d), nn.GELU(), nn.Linear(d, d))

    @torch.inference_mode()
    def score(self, query, docs):
        docs = docs.to(DEVICE)
        return self.q(query.to(DEVICE)) @ self.doc(docs).T


def top(model, query, docs):
    scores = model.score(query, docs)
    if os.environ.get("CURED"):
        return scores.topk(10).indices.cpu()
    return scores


def score_catalogue(chunks=260):
    model = Reranker().to(DEVICE).eval()
    query = torch.randn(1024, 128)
    docs = torch.randn(3000, 128)
    jobs = []
    with ThreadPoolExecutor(max_workers=1) as pool:
        for c in range(chunks):
            jobs.append(pool.submit(top, model, query, docs))
        for c, job in enumerate(jobs):
            job.result()
            if c % 20 == 0:
                print("chunk", c, "scored", flush=True)


if __name__ == "__main__":
    score_catalogue()
