"""
Claim: DataLoader workers use GPU memory.
Ruling: false
Why: A worker is a process without CUDA: it loads into host memory, and only the main process copies to the GPU. A
    worker that is started by fork cannot even use CUDA. What many workers do fill is host memory.
Topic: Host memory
"""

import json
import os

import torch
from torch.utils.data import DataLoader, Dataset

MIB = 2**20


class Samples(Dataset):
    """Each sample says whether its worker has a CUDA context, and what happens if it asks for one."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> tuple[int, int, str]:
        try:
            torch.ones(1, device="cuda")
        except RuntimeError as error:
            return os.getpid(), int(torch.cuda.is_initialized()), str(error).split(". ")[0]
        return os.getpid(), int(torch.cuda.is_initialized()), "has CUDA"


x = torch.ones(MIB, device="cuda")  # the main process uses the GPU
free_before, _ = torch.cuda.mem_get_info()
samples = list(DataLoader(Samples(), num_workers=2, batch_size=None, multiprocessing_context="fork"))
free_after, _ = torch.cuda.mem_get_info()

assert free_after == free_before
assert len({worker for worker, _, _ in samples} - {os.getpid()}) == 2, "two workers did the work"
assert all(not initialized for _, initialized, _ in samples)
answers = sorted({said for _, _, said in samples})
assert answers == ["Cannot re-initialize CUDA in forked subprocess"]
print(json.dumps({
    "taken from the card by 2 workers": (free_before - free_after) / MIB,
    "a worker that asks for CUDA": answers[0],
}))
