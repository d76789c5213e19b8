"""Several processes that train one model: they agree after every attempt, before anyone goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from .failures import steadily

# What an attempt came to, the worst last.
GOOD, AGAIN, STOP = 0, 1, 2
# Gradients travel in pieces of this many bytes.
_BUCKET = 32 << 20


class Ranks:
    """The ranks of a DistributedDataParallel model, or this process alone.

    While a step runs no rank waits for another: DDP neither sends gradients nor buffers then. When every rank has
    succeeded, the gradients are averaged, as DDP would have done it. So whoever fails, fails alone, and says so to the
    others in a group of its own.
    """

    def __init__(self, roots: Iterable[Any]) -> None:
        self._models: list[Any] = []
        self._group: Any = None
        self._size = 1
        # The models whose gradients are averaged after this step, and the tensors in which they travel.
        self._sending: list[Any] = []
        self._space: dict[Any, Any] = {}
        distributed: Any = torch.distributed
        if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() == 1:
            return
        modules = [module for root in roots for module in root.modules()]
        if not modules:
            raise TypeError("oomph.fit needs to know the model before the first step of several ranks: pass model=")
        for module in modules:
            _check(module)
        parallel = torch.nn.parallel.DistributedDataParallel
        self._models = [module for module in modules if isinstance(module, parallel)]
        if self._models:
            self._size = distributed.get_world_size()
            self._group = distributed.new_group(backend="gloo")

    @property
    def is_alone(self) -> bool:
        """Whether this process trains for itself."""
        return not self._models

    @contextlib.contextmanager
    def quiet(self, trains: bool) -> Iterator[None]:
        """Inside the block the models' forward and backward wait for nobody. Buffers are sent before, where DDP would."""
        self._sending = [model for model in self._models if trains and model.require_backward_grad_sync]
        with contextlib.ExitStack() as stack:
            for model in self._models:
                if model.will_sync_module_buffers():
                    self._send_buffers(model)
                if trains:
                    model.reducer._rebuild_buckets()
                stack.callback(setattr, model, "require_forward_param_sync", model in self._sending)
                stack.callback(setattr, model, "require_backward_grad_sync", model.require_backward_grad_sync)
                model.require_backward_grad_sync = False
                model.require_forward_param_sync = False
            yield

    def prepare(self) -> None:
        """Allocates what averaging needs, at the end of an attempt: if it does not fit, the attempt has failed."""
        for model in self._sending:
            for kind, same in _kinds(_parameters(model)).items():
                if any(each.grad is not None and each.grad.is_sparse for each in same):
                    raise TypeError("oomph.fit cannot average sparse gradients of several ranks: use dense ones")
                sizes = [each.numel() for each in same]
                most = min(sum(sizes), max(_BUCKET // same[0].element_size(), *sizes))
                if kind not in self._space or self._space[kind].numel() < most:
                    self._space[kind] = torch.empty(most, dtype=same[0].dtype, device=same[0].device)

    def agree(self, state: int, parts: int) -> tuple[int, int]:
        """The worst state of all ranks, and the most parts that any of them wants."""
        if self._group is None:
            return state, parts
        told = steadily(lambda: torch.tensor([state, parts], dtype=torch.int64, device="cpu"))
        self._reduce(told, "MAX", self._group)
        worst, most = told.tolist()
        return worst, most

    def average(self) -> None:
        """The mean of all ranks' gradients, for each model that is not under `no_sync()`. A parameter that only some ranks
        used counts as zero on the others; one that nobody used has no gradient, as before."""
        for model in self._sending:
            self._average(_parameters(model), model.process_group)

    def _average(self, parameters: list[Any], group: Any) -> None:
        flags = [each.grad is not None for each in parameters]
        used = steadily(lambda: torch.tensor(flags, dtype=torch.int64, device="cpu"))
        self._reduce(used, "SUM", self._group)
        counts = used.tolist()
        if any(0 < count < self._size for count in counts):
            self._fill([each for each, count in zip(parameters, counts) if count])
        gradients = [each.grad for each, count in zip(parameters, counts) if count]
        for kind, same in _kinds(gradients).items():
            for together in _buckets(same):
                self._average_bucket(together, self._space[kind], group)

    def _fill(self, parameters: list[Any]) -> None:
        def fill() -> None:
            for each in parameters:
                if each.grad is None:
                    each.grad = torch.zeros_like(each)

        failure: Exception | None = None
        try:
            steadily(fill)
        except Exception as error:
            failure = error
        state, _ = self.agree(GOOD if failure is None else STOP, 0)
        if failure is not None:
            raise failure
        if state == STOP:
            raise RuntimeError("another rank has no memory for its gradients; the step is lost on all of them")

    def _average_bucket(self, gradients: list[Any], space: Any, group: Any) -> None:
        flat, places = steadily(lambda: _places(space, gradients))

        def gather() -> None:
            for place, gradient in zip(places, gradients):
                torch.div(gradient, self._size, out=place)

        def scatter() -> None:
            for place, gradient in zip(places, gradients):
                gradient.copy_(place)

        with torch.no_grad():
            steadily(gather)
            self._reduce(flat, "SUM", group)
            steadily(scatter)

    def _send_buffers(self, model: Any) -> None:
        """Rank 0's buffers for all, one by one and in place: nothing is allocated for it."""
        model._assign_modules_buffers()
        source = torch.distributed.get_global_rank(model.process_group, 0)
        for buffer in model.modules_buffers:
            torch.distributed.broadcast(buffer, source, group=model.process_group)

    def _reduce(self, tensor: Any, operation: str, group: Any) -> None:
        torch.distributed.all_reduce(tensor, op=getattr(torch.distributed.ReduceOp, operation), group=group)


def _check(module: Any) -> None:
    """Refuses what waits for other ranks inside a step."""
    parallel = torch.nn.parallel.DistributedDataParallel
    if any(kind.__name__ in ("FSDPModule", "FullyShardedDataParallel") for kind in type(module).__mro__):
        raise TypeError(
            "oomph.fit cannot repeat a step of an FSDP model: ranks wait for each other inside it; "
            "use smaller batches there, or DistributedDataParallel"
        )
    if isinstance(module, torch.nn.SyncBatchNorm):
        raise TypeError("oomph.fit cannot repeat a step with SyncBatchNorm: ranks wait for each other inside it")
    if isinstance(module, parallel) and getattr(module, "_comm_hooks", None):
        raise TypeError("oomph.fit averages gradients itself and cannot use this model's communication hook: remove it")


def _parameters(model: Any) -> list[Any]:
    """Those whose gradients DDP averages."""
    return [each for each in model.parameters() if each.requires_grad and not hasattr(each, "_ddp_ignored")]


def _kinds(tensors: list[Any]) -> dict[Any, list[Any]]:
    kinds: dict[Any, list[Any]] = {}
    for tensor in tensors:
        kinds.setdefault((tensor.dtype, tensor.device), []).append(tensor)
    return kinds


def _buckets(gradients: list[Any]) -> Iterator[list[Any]]:
    """They, in their order, a bucket at a time; one that is larger than a bucket is alone."""
    bucket: list[Any] = []
    size = 0
    for gradient in gradients:
        amount = gradient.numel() * gradient.element_size()
        if bucket and size + amount > _BUCKET:
            yield bucket
            bucket, size = [], 0
        bucket.append(gradient)
        size += amount
    yield bucket


def _places(space: Any, gradients: list[Any]) -> tuple[Any, list[Any]]:
    """The part of the space that they take, and a place of its shape for each of them."""
    places, start = [], 0
    for gradient in gradients:
        places.append(space[start : start + gradient.numel()].view(gradient.shape))
        start += gradient.numel()
    return space[:start], places
