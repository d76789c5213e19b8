"""Random numbers: the state of Python's, NumPy's and PyTorch's generators, on the CPU and on every GPU of this process."""

from __future__ import annotations

import random
import sys
from typing import Any


def take(with_gpus: bool = True) -> dict[str, Any]:
    """Their states now. No GPU is started for it."""
    found: dict[str, Any] = {"python": random.getstate()}
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        found["numpy"] = numpy.random.get_state(legacy=False)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = torch.get_rng_state()
        if with_gpus and torch.cuda.is_available() and torch.cuda.is_initialized():
            found["cuda"] = [generator.get_state() for generator in torch.cuda.default_generators]
    return found


def put(state: dict[str, Any]) -> None:
    """Sets them as they were."""
    random.setstate(state["python"])
    if "numpy" in state:
        import numpy

        numpy.random.set_state(state["numpy"])
    torch: Any = sys.modules.get("torch")
    if torch is None or "torch" not in state:
        return
    torch.set_rng_state(state["torch"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.init()
        for generator, old in zip(torch.cuda.default_generators, state["cuda"]):
            generator.set_state(old)
