"""Asks cuDNN on a GPU how much memory recurrent networks work in and keep, for the phantom GPU's model of it.

    python gpu/measure_rnn.py [--seconds 60] [--seed 0] > rnn.csv

Nothing is run: cuDNN tells sizes for any network that it is described. Needs torch with its own cuDNN and a GPU. The first
line says on what; each other one is a network and its sequences as `COLUMNS` names them.
"""

from __future__ import annotations

import argparse
import ctypes
import glob
import os
import random
import sys
import time
from collections.abc import Iterator

import torch

COLUMNS = (
    "algo cell bias both math type input hidden projected layers dropout unpadded layout longest batch total "
    "weights inference training reserve"
).split()
TYPES = {"fp32": 0, "fp16": 2, "bf16": 9}
SIZES = (16, 32, 50, 64, 100, 128, 192, 200, 256, 300, 384, 400, 512, 600, 640, 650, 768, 1000, 1024, 1150, 1280, 1500, 2000, 2048, 3072)
Case = tuple[int, ...]


def library() -> ctypes.CDLL:
    """The cuDNN that PyTorch has loaded."""
    torch.zeros(1, device="cuda")
    torch.backends.cudnn.version()
    folder = os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia", "cudnn", "lib")
    return ctypes.CDLL((glob.glob(os.path.join(folder, "libcudnn.so.9")) or ["libcudnn.so.9"])[0])


class Cudnn:
    """The few functions that are needed."""

    def __init__(self) -> None:
        self.lib = library()
        self.handle = self.made("cudnnCreate")
        self.network = self.made("cudnnCreateRNNDescriptor")
        self.data = self.made("cudnnCreateRNNDataDescriptor")
        self.dropouts = [self.dropout(0.0), self.dropout(0.5)]

    def made(self, function: str) -> ctypes.c_void_p:
        it = ctypes.c_void_p()
        assert getattr(self.lib, function)(ctypes.byref(it)) == 0, function
        return it

    def dropout(self, share: float) -> ctypes.c_void_p:
        size = ctypes.c_size_t()
        assert self.lib.cudnnDropoutGetStatesSize(self.handle, ctypes.byref(size)) == 0
        self.states = getattr(self, "states", [])
        self.states.append(torch.empty(size.value, dtype=torch.uint8, device="cuda"))
        it = self.made("cudnnCreateDropoutDescriptor")
        place = ctypes.c_void_p(self.states[-1].data_ptr())
        code = self.lib.cudnnSetDropoutDescriptor(it, self.handle, ctypes.c_float(share), place, size, ctypes.c_ulonglong(1))
        assert code == 0, code
        return it

    def sizes(self, case: Case, lengths: list[int]) -> list[int] | None:
        """Weights, workspaces of inference and training, and what training keeps; None where there is no such network."""
        algo, cell, bias, both, math, kind, ins, hidden, projected, layers, dropout, unpadded, layout, longest, batch, _ = case
        code = self.lib.cudnnSetRNNDescriptor_v8(
            self.network, algo, cell, bias, both, 0, kind, TYPES["fp32"], math, ins, hidden, projected, layers, self.dropouts[dropout], unpadded
        )
        array = (ctypes.c_int * batch)(*lengths)
        code |= self.lib.cudnnSetRNNDataDescriptor(self.data, kind, layout, longest, batch, ins, array, None)
        found = []
        size, other = ctypes.c_size_t(), ctypes.c_size_t()
        code |= self.lib.cudnnGetRNNWeightSpaceSize(self.handle, self.network, ctypes.byref(size))
        found.append(size.value)
        for mode in (0, 1):
            code |= self.lib.cudnnGetRNNTempSpaceSizes(
                self.handle, self.network, mode, self.data, ctypes.byref(size), ctypes.byref(other)
            )
            found.append(size.value)
        return None if code else [*found, other.value]


def cases(choose: random.Random) -> Iterator[tuple[Case, list[int]]]:
    """Networks as programs have them, mostly; one in some has what few have."""
    while True:
        rare = choose.random() < 0.1
        # PyTorch takes the standard one, or where the hidden size is small the third; the first before Hopper.
        algo = choose.choice((0, 0, 0, 3, 3, 1))
        cell, both, layers = choose.choice((2, 2, 2, 3, 3, 0, 1)), choose.choice((0, 0, 1)), choose.choice((1, 1, 2, 2, 3, 4))
        kind = choose.choice((0, 0, 2, 9))
        math = {0: choose.choice((0, 0, 3)), 2: 1, 9: choose.choice((0, 0, 3))}[kind]
        any_size = lambda: choose.choice(SIZES) if choose.random() < 0.8 else choose.randint(1, 2500)
        ins, hidden = any_size(), any_size()
        projected = choose.randint(1, hidden) if cell == 2 and rare and choose.random() < 0.3 else hidden
        dropout = int(choose.random() < 0.3)
        packed = choose.random() < 0.2
        layout = int(packed)
        longest = choose.choice((1, 2, 5, 10, 16, 20, 32, 35, 50, 64, 70, 100, 128, 200, 256, 512, 1000, choose.randint(1, 600)))
        batch = choose.choice((1, 2, 4, 8, 10, 16, 20, 32, 48, 64, 80, 100, 128, 256, 512, choose.randint(1, 300)))
        if longest * batch * max(ins, hidden) > 1 << 29:
            continue
        lengths = sorted((choose.randint(1, longest) for _ in range(batch)), reverse=True) if packed else [longest] * batch
        lengths[0] = longest
        bias = choose.choice((0, 1, 2, 3)) if rare else 2
        yield (algo, cell, bias, both, math, kind, ins, hidden, projected, layers, dropout, 0 if packed else 1, layout, longest, batch, sum(lengths)), lengths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cudnn = Cudnn()
    began, count, refused = time.monotonic(), 0, 0
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    print(",".join(COLUMNS))
    for case, lengths in cases(random.Random(options.seed)):
        if time.monotonic() - began > options.seconds:
            break
        found = cudnn.sizes(case, lengths)
        count += 1
        refused += found is None
        if found is not None:
            print(",".join(map(str, (*case, *found))))
    print(f"{count} asked, {refused} refused", file=sys.stderr)


if __name__ == "__main__":
    main()
