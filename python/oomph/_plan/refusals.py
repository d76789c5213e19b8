"""What a phantom GPU cannot do, said in words."""

from __future__ import annotations

from typing import Any


def unsupported(torch: Any) -> str | None:
    """That this build of PyTorch has no kernels for the card, if so."""
    built = [name.partition("_")[2].rstrip("af") for name in torch.cuda.get_arch_list() if name.startswith("sm_")]
    major, minor = torch.cuda.get_device_capability()
    if not built or 10 * major + minor >= min(int(name) for name in built):
        return None
    return f"PyTorch {torch.__version__} has no kernels for compute capability {major}.{minor}: on this card it needs another build"
