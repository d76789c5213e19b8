"""The state of optimizers on the host. Between steps it lies in pinned memory; in a step it comes to the card for some
parameters at a time, the optimizer's own step is made for these, and it goes back. While one group is updated the next
comes and the last goes. An optimizer that updates each parameter by itself gives the same result, bit for bit.

`state_dict()` has the state as before, its large tensors on the CPU; `load_state_dict()` takes both."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import host, versions

# Optimizers of PyTorch that update each parameter from its own gradient and state.
EACH_BY_ITSELF = (
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "Adamax",
    "AdamW",
    "ASGD",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
)
# State that is smaller stays on the card, in bytes of a tensor.
SMALLEST = 64 << 10
# How much state comes at a time. Three groups are on the card: one that comes, one that is updated, one that goes.
GROUP = 32 << 20


class States:
    """Keeps the state of the program's optimizers on the host; or, if that is not asked for, says how much there is."""

    def __init__(
        self,
        torch: Any,
        found: dict[str, Any],
        remarks: list[str],
        *,
        on_host: bool,
        device: str = "cuda",
        smallest: int = SMALLEST,
        group: int = GROUP,
    ) -> None:
        self._torch = torch
        self._found = found
        self.remarks = remarks
        self._device = device
        self._smallest = smallest
        self._group = group
        self.moved = 0
        optim = torch.optim
        self._known = tuple(getattr(optim, name) for name in EACH_BY_ITSELF if hasattr(optim, name))
        # The step of the class itself: PyTorch puts the hooks of the program and of schedulers around it, once for each
        # class, when its first optimizer is made. So they see one step, in however many groups it is made.
        for known in self._known:
            if "step" in vars(known):
                known.step = self._grouped(known.step) if on_host else self._noted(known.step)
        if on_host:
            self._remark_others()
            self._load_to_host()

    def _remark_others(self) -> None:
        original = self._torch.optim.Optimizer.__init__

        @functools.wraps(original)
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            if type(optimizer) not in self._known:
                name = type(optimizer).__name__
                self.remarks.append(f"not changed: {name} is not known to update each parameter by itself")
            original(optimizer, *args, **kwargs)

        self._torch.optim.Optimizer.__init__ = init

    def _noted(self, step: Any) -> Any:
        """A step after which the state is counted, once."""

        @functools.wraps(step)
        def noted(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            answer = step(optimizer, *args, **kwargs)
            if not getattr(optimizer, "_oomph_noted", False):
                optimizer._oomph_noted = True
                large = (self._large(optimizer, parameter).values() for parameter in self._open(optimizer))
                size = sum(_bytes(value) for values in large for value in values)
                if size:
                    self._found["state"] = self._found.get("state", 0) + size
            return answer

        return noted

    def _grouped(self, step: Any) -> Any:
        """A step in groups of parameters."""

        @functools.wraps(step)
        def grouped(optimizer: Any, closure: Any = None) -> Any:
            loss = None
            if closure is not None:
                with self._torch.enable_grad():
                    loss = closure()
            parameters = self._open(optimizer)
            if not parameters:
                # Nothing that can be moved; what has been moved would not be here.
                step(optimizer)
                return loss
            home = getattr(optimizer, "_oomph_home", None)
            if home is None:
                home = Home(self._torch, optimizer, parameters[0].device, self._large, self._group)
                # Copies of an optimizer, and what is pickled of it, do not have this.
                optimizer._oomph_home = home
            home.step(step, parameters)
            self.moved += home.held > 0
            return loss

        return grouped

    def _open(self, optimizer: Any) -> list[Any]:
        """The parameters that have a gradient, if all can be updated in groups: plain ones on one card. PyTorch decides by
        them all how it updates them, so none may be of another kind."""
        torch = self._torch
        parameters = [
            parameter
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        plain = (torch.Tensor, torch.nn.Parameter)
        is_open = (
            type(optimizer) in self._known
            and all(type(parameter) in plain and not parameter.grad.is_sparse for parameter in parameters)
            and len({parameter.device for parameter in parameters}) == 1
            and parameters[0].device.type == self._device
            and not any(group.get("differentiable") for group in optimizer.param_groups)
            and not versions.is_compiling(torch)
            and not (self._device == "cuda" and torch.cuda.is_current_stream_capturing())
        )
        return parameters if is_open else []

    def _large(self, optimizer: Any, parameter: Any) -> dict[str, Any]:
        """The state of a parameter that is worth moving."""
        state = optimizer.state.get(parameter, {})
        return {
            name: value
            for name, value in state.items()
            if type(value) is self._torch.Tensor
            and value.shape == parameter.shape
            and _bytes(value) >= self._smallest
            and host.is_dense(value)
        }

    def _load_to_host(self) -> None:
        """What `load_state_dict` reads stays on the host where it was read to: it is too much for the card."""
        optimizer = self._torch.optim.Optimizer
        original = getattr(optimizer, "_process_value_according_to_param_policy", None)
        if original is None:
            return

        @functools.wraps(original)
        def process(param: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
            is_large = value.shape == param.shape and _bytes(value) >= self._smallest
            is_here = value.device.type == "cpu" and param.device.type == self._device
            if is_large and is_here and param.is_floating_point():
                return value.to(dtype=param.dtype, copy=True)
            return original(param, value, *args, **kwargs)

        optimizer._process_value_according_to_param_policy = staticmethod(process)


class Home:
    """Where the state of one optimizer lies. What computes waits for each copy before the memory on the card that it read
    or wrote is used for something else: so as much of it is needed on every card, however quick its copies are."""

    def __init__(self, torch: Any, optimizer: Any, device: Any, large: Any, group: int) -> None:
        self._torch = torch
        self._optimizer = optimizer
        self._device = device
        self._large = large
        self._group = group
        self._arena = host.Arena(torch, device.type)
        self._streams = host.streams(torch, device)
        self._places: dict[tuple[Any, str], Any] = {}

    @property
    def held(self) -> int:
        """How many tensors have been on the host."""
        return len(self._places)

    def step(self, step: Any, parameters: list[Any]) -> None:
        """One step of the optimizer, group by group."""
        groups = list(self._groups(parameters))
        coming = self._come(groups[0])
        leaving: list[Copy] = []
        for at, group in enumerate(groups):
            self._arrive(coming)
            coming = self._come(groups[at + 1]) if at + 1 < len(groups) else []
            self._step_of(step, group)
            self._wait(leaving)
            leaving = self._leave(group)
        self._wait(leaving)
        # The program may read the state from here on, as it could before.
        self._streams.finish(self._streams.out)

    def _groups(self, parameters: list[Any]) -> Iterator[list[Any]]:
        """Parameters whose state is so much together, in their order; at least one."""
        group: list[Any] = []
        size = 0
        for parameter in parameters:
            # State that is yet to be made is taken to be two tensors, as Adam's is.
            more = sum(map(_bytes, self._large(self._optimizer, parameter).values())) or 2 * _bytes(parameter)
            if group and size + more > self._group:
                yield group
                group, size = [], 0
            group.append(parameter)
            size += more
        yield group

    def _step_of(self, step: Any, parameters: list[Any]) -> None:
        """The optimizer's own step, for these parameters."""
        groups = self._optimizer.param_groups
        wanted = {id(parameter) for parameter in parameters}
        had = [group["params"] for group in groups]
        try:
            for group in groups:
                group["params"] = [parameter for parameter in group["params"] if id(parameter) in wanted]
            self._optimizer.param_groups = [group for group in groups if group["params"]]
            step(self._optimizer)
        finally:
            self._optimizer.param_groups = groups
            for group, parameters_had in zip(groups, had, strict=True):
                group["params"] = parameters_had

    def _come(self, parameters: list[Any]) -> list[Copy]:
        """Begins to copy the state of parameters to the card."""
        coming = []
        for parameter in parameters:
            for name, value in self._large(self._optimizer, parameter).items():
                # What was loaded lies elsewhere on the host.
                if value.device != self._device or self._places.get((parameter, name)) is value:
                    here = self._torch.empty_strided(
                        value.shape, value.stride(), dtype=value.dtype, device=self._device
                    )
                    coming.append(Copy(parameter, name, here, self._streams.copy(here, value, self._streams.back)))
        return coming

    def _arrive(self, coming: list[Copy]) -> None:
        """What computes goes on when the state is on the card, and finds it there."""
        self._wait(coming)
        for copy in coming:
            self._optimizer.state[copy.parameter][copy.name] = copy.here

    def _leave(self, parameters: list[Any]) -> list[Copy]:
        """Begins to copy the state of parameters to the host, where the optimizer has it from now on."""
        leaving = []
        for parameter in parameters:
            for name, value in self._large(self._optimizer, parameter).items():
                place = self._places.get((parameter, name))
                if place is None or (place.dtype, place.stride()) != (value.dtype, value.stride()):
                    place = self._places[parameter, name] = self._arena.like(value)
                leaving.append(Copy(parameter, name, value, self._streams.copy(place, value, self._streams.out)))
                self._optimizer.state[parameter][name] = place
        return leaving

    def _wait(self, copies: list[Copy]) -> None:
        for copy in copies:
            self._streams.wait(copy.done, self._streams.current())


class Copy(NamedTuple):
    """A copy under way, and the tensor on the card that it reads or writes."""

    parameter: Any
    name: str
    here: Any
    done: Any


def _bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())
