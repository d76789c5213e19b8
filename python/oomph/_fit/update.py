"""One update of an optimizer, chunk by chunk, each with a copy to go back to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from .failures import is_failure, make_room, noted, write
from .room import Room

# Parameters with their state that are updated at once, in bytes: on the CPU, and on a GPU.
_CHUNK = 4 << 20
_CHUNK_CUDA = 64 << 20
# So often an update of one parameter is tried.
_TRIES = 3


def update(optimizer: Any, room: Room) -> bool:
    """Makes the update, or finds that there is room for it: then it is False, and the update is still to be made.

    With room to spare on a GPU, nothing is copied: as much memory as the update takes is asked for and given back just
    before, so that it is in PyTorch's cache. Else the parameters are updated in chunks. A chunk that fails is put back as
    it was, and made again in halves. The result is the same bit for bit, as each parameter's update depends on nothing but
    its own gradient and state; this holds for the optimizers of torch.optim, others are updated in one chunk.
    """
    if room.is_there(optimizer):
        return False
    chunks = list(reversed(list(_chunks(optimizer))))
    done = 0
    while chunks:
        chunk = chunks.pop()
        failure = _try(optimizer, chunk, on_host=len(chunk[1]) == 1 or not _is_separable(optimizer))
        if failure is None:
            done += 1
        elif len(chunk[1]) > 1 and _is_separable(optimizer):
            chunks += reversed(_halves(chunk))
        else:
            again = _try_often(optimizer, chunk)
            if again is not None:
                state = "some parameters are updated, others are not" if done else "no parameter has changed"
                raise noted(again, f"the optimizer's update does not fit, not even for one parameter at a time; {state}")
            done += 1
    return True


# A group's options, and those of its parameters that are updated together.
_Chunk = tuple[dict[str, Any], list[Any]]


def _is_separable(optimizer: Any) -> bool:
    """Whether the update of a parameter depends on no other parameter."""
    return type(optimizer).__module__.startswith("torch.optim.")


def _halves(chunk: _Chunk) -> list[_Chunk]:
    group, parameters = chunk
    middle = len(parameters) // 2
    return [(group, parameters[:middle]), (group, parameters[middle:])]


def _chunks(optimizer: Any) -> Iterator[_Chunk]:
    if not _is_separable(optimizer):
        yield {}, [parameter for group in optimizer.param_groups for parameter in group["params"]]
        return
    for group in optimizer.param_groups:
        chunk: list[Any] = []
        size = 0
        for parameter in group["params"]:
            # With its state, of which there are two tensors for most.
            amount = 3 * parameter.numel() * parameter.element_size()
            limit = _CHUNK_CUDA if parameter.is_cuda else _CHUNK
            if chunk and size + amount > limit:
                yield group, chunk
                chunk, size = [], 0
            chunk.append(parameter)
            size += amount
        if chunk:
            yield group, chunk


def _try(optimizer: Any, chunk: _Chunk, on_host: bool) -> Exception | None:
    """Updates one chunk. If memory runs out everything of it is as it was before."""
    group, parameters = chunk
    groups = optimizer.param_groups
    undo: _Undo | None = None
    # Nothing changes without a gradient.
    parameters = [parameter for parameter in parameters if parameter.grad is not None]
    if not parameters:
        return None
    try:
        undo = _Undo(optimizer, parameters, on_host)
        if _is_separable(optimizer):
            optimizer.param_groups = [{**group, "params": parameters}]
        _raw_step(optimizer)()
        return None
    except Exception as error:
        if not is_failure(error):
            raise
        failure = error
    finally:
        optimizer.param_groups = groups
    make_room(failure)
    if undo is not None:
        undo.restore()
    return failure


def _try_often(optimizer: Any, chunk: _Chunk) -> Exception | None:
    """Tries one chunk that cannot be halved a few times more, with its copy on the host."""
    failure: Exception | None = None
    for _ in range(_TRIES):
        failure = _try(optimizer, chunk, on_host=True)
        if failure is None:
            break
    return failure


def _raw_step(optimizer: Any) -> Any:
    """The update itself, without the hooks that PyTorch puts around it."""
    step: Any = type(optimizer).step
    if getattr(step, "hooked", False):
        step = step.__wrapped__
    return step.__get__(optimizer)


class _Undo:
    """Parameters and their state as they were."""

    def __init__(self, optimizer: Any, parameters: list[Any], on_host: bool) -> None:
        self._optimizer = optimizer
        copies = _Copies(on_host)
        self._before = [
            (parameter, copies.of(parameter), copies.of(optimizer.state.get(parameter))) for parameter in parameters
        ]

    def restore(self) -> None:
        for parameter, value, state in self._before:
            write(parameter, value)
            if state is None:
                self._optimizer.state.pop(parameter, None)
                continue
            now = self._optimizer.state[parameter]
            for name in list(now):
                if name not in state:
                    del now[name]
            for name, saved in state.items():
                if isinstance(saved, torch.Tensor):
                    write(now[name], saved)
                else:
                    now[name] = saved


# Where copies on the CPU go: taking fresh memory for every update costs more than the copies do.
_host_space: dict[torch.dtype, Any] = {}


class _Copies:
    """Copies of tensors, which last until the next chunk."""

    def __init__(self, on_host: bool) -> None:
        self._on_host = on_host
        self._taken: dict[torch.dtype, int] = {}

    def of(self, value: Any) -> Any:
        """A copy, of the tensors of a dictionary too; what is no tensor stays as it is."""
        if isinstance(value, dict):
            return {name: self.of(inner) for name, inner in value.items()}
        if not isinstance(value, torch.Tensor):
            return value
        value = value.detach()
        if value.device.type != "cpu":
            return value.to("cpu", copy=True) if self._on_host else value.clone()
        return self._placed(value)

    def _placed(self, value: Any) -> Any:
        kind, length, start = value.dtype, value.numel(), self._taken.get(value.dtype, 0)
        room = _CHUNK // value.element_size()
        if start + length > room:
            return value.clone()
        if kind not in _host_space:
            _host_space[kind] = torch.empty(room, dtype=kind, device="cpu")
        self._taken[kind] = start + length
        return _host_space[kind][start : start + length].view(value.shape).copy_(value)
