"""Small values that can be known: what a program makes on the card, or copies there, is also made in the host's memory.

A shadow is a CPU tensor with the contents that a tensor on the card would have. It follows its tensor through every
function whose inputs all have shadows. So masks, lengths and labels answer truly, and only what depends on weights is
unknown. Of that some contents are made up: what is picked is picked in turn (picks.py), and an unknown mask is true
everywhere where its elements are counted, as it is where it selects (shapes.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from .branches import Branches
from .picks import Picks
from .questions import Questions

# Elements up to which contents are followed: of integers and truth values, and of real numbers.
MOST_INTEGERS = 1 << 22
MOST_REALS = 1 << 16

_FACTORIES = (
    "ones", "zeros", "full", "arange", "tensor", "as_tensor", "eye", "linspace", "randint", "randperm", "rand", "randn",
    "tril_indices", "triu_indices", "scalar_tensor",
)
_LIKES = ("ones_like", "zeros_like", "full_like", "randint_like", "rand_like", "randn_like")
_NEWS = ("new_ones", "new_zeros", "new_full", "new_tensor")
_RANDOM = ("randint", "randperm", "rand", "randn")
_ASKS = ("item", "tolist", "__bool__", "__int__", "__float__", "__index__", "__complex__", "__contains__", "__format__", "__repr__", "__str__")
_MOVES = ("to", "cuda", "cpu", "numpy", "__array__", "type")
_DRAWS = ("multinomial", "bernoulli", "poisson", "normal")
# Functions whose result has the same elements, or some of them.
_KEEPS = ("detach", "squeeze", "unsqueeze", "view", "reshape", "flatten", "__getitem__", "float", "double", "contiguous", "clone")
# Functions of two truth values, and the value that decides on its own.
_DECIDED_BY = {
    "__or__": True, "bitwise_or": True, "logical_or": True, "__and__": False, "bitwise_and": False, "logical_and": False,
}
# Functions that only want to know the shape of their second argument.
_SHAPED_LIKE = ("expand_as", "view_as", "reshape_as")
# Those that leave of a mask, in place, what another one has too.
_NARROWS = ("__iand__", "bitwise_and_", "logical_and_")
# Whether numbers are finite: those on the phantom are taken to be.
_SOUND = {"isfinite": True, "isnan": False, "isinf": False, "isposinf": False, "isneginf": False}


def _has_made_up(values: Iterable[Any]) -> bool:
    inner = (item for value in values for item in (value if isinstance(value, (list, tuple)) else (value,)))
    return any(is_made_up(item) for item in inner)


class Shadow:
    """The contents of a tensor on the card; and, in `root`, which its views share, whether they still stand, and whether they
    are made up."""

    __slots__ = ("tensor", "root")

    def __init__(self, tensor: Any, root: list[bool]) -> None:
        self.tensor = tensor
        self.root = root


def _name(func: Any) -> str:
    return getattr(func, "__name__", "")


def _is_in_place(name: str) -> bool:
    if name.startswith("__i") and name.endswith("__") and name not in ("__index__", "__int__", "__invert__"):
        return True
    return name in ("__setitem__", "__set__") or (name.endswith("_") and not name.endswith("__"))


def doubt(tensors: Iterable[Any]) -> None:
    """What these hold, and their views, is not known any more."""
    for tensor in tensors:
        shadow = getattr(tensor, "_oomph_shadow", None)
        if shadow is not None:
            shadow.root[0] = False


def contents_of(value: Any) -> Any:
    """The contents of a tensor on the card, or None where they are unknown."""
    shadow = getattr(value, "_oomph_shadow", None)
    return shadow.tensor if shadow is not None and shadow.root[0] else None


def is_made_up(value: Any) -> bool:
    """Whether the contents of a tensor on the card, where there are any, are made up."""
    shadow = getattr(value, "_oomph_shadow", None)
    return shadow is not None and bool(shadow.root[1])


def make_up(value: Any) -> None:
    """The contents, and those of its views, are made up from now on."""
    shadow = getattr(value, "_oomph_shadow", None)
    if shadow is not None:
        shadow.root[1] = True


class Shadows:
    """Calls functions, and follows what can be followed."""

    def __init__(self, torch: Any, questions: Questions) -> None:
        self._torch = torch
        self._questions = questions
        self._generator = torch.Generator()
        tensor = torch.Tensor
        self._factories = {getattr(torch, name): name for name in _FACTORIES if hasattr(torch, name)}
        self._likes = {getattr(torch, name) for name in _LIKES}
        self._news = {getattr(tensor, name) for name in _NEWS}
        self._asks = {getattr(tensor, name): name for name in _ASKS if hasattr(tensor, name)}
        self._moves = {getattr(tensor, name): name for name in _MOVES if hasattr(tensor, name)}
        self._sound = {
            getattr(place, name): answer for name, answer in _SOUND.items() for place in (torch, tensor) if hasattr(place, name)
        }
        self._all = {torch.all: True, tensor.all: True}
        if hasattr(torch, "_is_all_true"):
            # torch.distributions asks so whether samples and parameters are sound.
            self._all |= {torch._is_all_true: True, torch._is_any_true: False}
        # How many are not zero. Whether any is asks like `all`, and then the line that wants to know decides.
        self._counts = {torch.sum, tensor.sum, torch.count_nonzero, tensor.count_nonzero, torch.any, tensor.any}
        functional = torch.nn.functional.softmax
        self._chances = {torch.softmax, tensor.softmax, functional}
        self._picks = Picks(torch)
        self._branches = Branches()
        self._same = {torch.equal, tensor.equal, torch.allclose, tensor.allclose}
        self._kinds = (tensor,)

    def of(self, value: Any) -> Any:
        """The contents of a tensor on the card, or None. Those of an empty one are known."""
        contents = contents_of(value)
        if contents is None and isinstance(value, self._torch.Tensor) and value.is_cuda and value.numel() == 0:
            return self._torch.empty(value.shape, dtype=value.dtype)
        return contents

    def attach(self, tensor: Any, contents: Any, root: list[bool] | None = None, is_made_up: bool = False) -> None:
        tensor._oomph_shadow = Shadow(contents, root or [True, is_made_up])

    def _may_follow(self, result: Any) -> bool:
        if not isinstance(result, self._torch.Tensor) or not result.is_cuda or result.requires_grad:
            return False
        return bool(result.numel() <= (MOST_REALS if result.is_floating_point() or result.is_complex() else MOST_INTEGERS))

    def call(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func in self._asks:
            return self._ask(func, args, kwargs)
        if func in self._moves:
            return self._move(func, args, kwargs)
        some = any(contents_of(value) is not None for value in args)
        if not some and kwargs:
            some = any(contents_of(value) is not None for value in kwargs.values())
        if not some and args and isinstance(args[0], (list, tuple)):
            some = any(contents_of(value) is not None for value in args[0])
        result = func(*args, **kwargs)
        if func in self._factories or func in self._likes or func in self._news:
            if self._may_follow(result) and not some:
                self._make(func, args, kwargs, result)
                return result
        if some:
            self._follow(func, args, kwargs, result)
        elif func in self._sound or func in self._all:
            self._suppose(func, result)
        elif func in self._counts:
            self._count_all(func, args, kwargs, result)
        elif func in self._same and args[0].is_cuda:
            self._questions.value(_name(func))
            return True
        elif func in self._chances:
            self._spread(args, kwargs, result)
        elif args and hasattr(args[0], "_oomph_chance") and _name(func) in _KEEPS:
            result._oomph_chance = args[0]._oomph_chance
        elif args and _name(func) == "copy_":
            self._fill(args, kwargs)
        elif func in self._picks.functions:
            self._pick(func, args, kwargs, result)
        return result

    def _suppose(self, func: Any, result: Any) -> None:
        if not isinstance(result, self._torch.Tensor) or not result.is_cuda or result.dtype != self._torch.bool:
            return
        answer = self._sound.get(func, self._all.get(func))
        self.attach(result, self._torch.tensor(answer).expand(result.shape))

    def _count_all(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """An unknown mask selects all that there is, and so it is counted. Whether it selects anything is decided by the line
        that asks; where none does, nothing is taken to be wrong. Which rows have something stays unknown."""
        mask = args[0] if args else kwargs.get("input")
        is_any = _name(func) == "any"
        if not isinstance(mask, self._torch.Tensor) or not mask.is_cuda or not self._may_follow(result):
            return
        if mask.dtype == self._torch.bool and not (is_any and result.dim()):
            count = 0 if is_any else mask.numel() // max(result.numel(), 1)
            self.attach(result, self._torch.full(result.shape, count, dtype=result.dtype), is_made_up=True)
        elif is_any and mask.dtype != self._torch.bool:
            # Numbers that are asked so tell of failures: of decompositions, for one.
            self.attach(result, self._torch.zeros(result.shape, dtype=result.dtype))

    def _spread(self, args: Any, kwargs: Any, result: Any) -> None:
        """Chances that nobody knows are the same for all, where the program draws by them on the host: they must add up."""
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if isinstance(dim, int) and result.is_cuda and result.dim():
            result._oomph_chance = 1 / max(result.shape[dim], 1)

    def _pick(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        found = self._picks.indices(func, args, kwargs, result)
        if found is not None and self._may_follow(found[0]):
            self.attach(*found, is_made_up=True)

    def _ask(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor = args[0]
        name = self._asks[func]
        if not tensor.is_cuda:
            return func(*args, **kwargs)
        contents = self.of(tensor)
        if name in ("__repr__", "__str__") or (name == "__format__" and tensor.dim() > 0):
            return self._printed(tensor, contents)
        if contents is not None and not is_made_up(tensor):
            return func(contents, *args[1:], **kwargs)
        self._questions.value(name.strip("_"))
        if name in ("__bool__", "item") and tensor.dtype == self._torch.bool:
            wanted = self._branches.answer()
            if wanted is not None:
                return wanted
        chance = getattr(tensor, "_oomph_chance", None)
        if contents is None and chance is not None and name in ("tolist", "item", "__float__"):
            contents = self._torch.full(tensor.shape, chance, dtype=tensor.dtype)
        if contents is not None:
            return func(contents, *args[1:], **kwargs)
        result = func(*args, **kwargs)
        # 1.0 can be divided by, has a logarithm, and may well be a loss.
        if name == "__format__":
            return format(1.0, *args[1:]) if tensor.is_floating_point() else result
        return 1.0 if name in ("item", "__float__", "tolist") and isinstance(result, float) else result

    def _printed(self, tensor: Any, contents: Any) -> str:
        """What a tensor on the card looks like: its contents where they are known, else its shape."""
        if contents is None:
            return f"tensor(..., device='{tensor.device}', size={tuple(tensor.shape)}, dtype={tensor.dtype})"
        text = repr(contents)
        return f"{text[:-1]}, device='{tensor.device}')" if text.endswith(")") else text

    def _move(self, func: Any, args: Any, kwargs: Any) -> Any:
        torch, source = self._torch, args[0]
        contents = self.of(source) if source.is_cuda else None
        made_up = contents is not None and is_made_up(source)
        if contents is not None and self._moves[func] in ("numpy", "__array__"):
            return func(contents, *args[1:], **kwargs)
        result = func(*args, **kwargs)
        if result is source or not isinstance(result, torch.Tensor) or result.is_meta:
            return result
        if source.is_cuda and not result.is_cuda:
            if contents is None or made_up:
                self._questions.value(self._moves[func])
            chance = getattr(source, "_oomph_chance", None)
            if contents is not None:
                result.detach().copy_(contents)
            elif chance is not None:
                result.detach().fill_(chance)
        elif self._may_follow(result):
            if not source.is_cuda and source.device.type == "cpu" and not source.requires_grad:
                contents = source.detach().clone()
            if contents is not None:
                self.attach(result, contents.to(result.dtype), is_made_up=made_up)
        return result

    def _cpu(self, value: Any) -> Any:
        """A value with every tensor on the card replaced by its contents; raises KeyError where one has none."""
        torch = self._torch
        if isinstance(value, torch.Tensor):
            if not value.is_cuda:
                return value
            contents = self.of(value)
            if contents is None:
                raise KeyError
            return contents
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if isinstance(value, str) and value.startswith("cuda"):
            return "cpu"
        if isinstance(value, (list, tuple)):
            made = [self._cpu(item) for item in value]
            return made if isinstance(value, list) else tuple(made) if type(value) is tuple else value
        return value

    def _follow(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        name = _name(func)
        in_place = _is_in_place(name)
        if name in _DRAWS and _has_made_up(args):
            # Nor does anybody know what is drawn by such chances.
            return
        if name.startswith("_amp_"):
            # Gradients are taken to be finite: neither the scale nor what says so changes. Steps that are skipped for
            # gradients that are not need less.
            if "non_finite" in name:
                self._questions.value("finite gradients")
            return
        if name in ("__get__", "requires_grad_", "record_stream", "data_ptr", "size", "stride", "dim"):
            if not (name == "__get__" and self._may_follow(result)):
                return
        results = result if isinstance(result, (list, tuple)) else (result,)
        followed = [item for item in results if self._may_follow(item)]
        if not followed and not in_place:
            return
        if name in _SHAPED_LIKE and len(args) == 2:
            args = (args[0], self._torch.empty(args[1].shape, device="meta"))
        # What is drawn here must not move the program's own generator.
        drawn = self._torch.random.fork_rng(devices=[]) if name in _DRAWS else contextlib.nullcontext()
        try:
            with drawn:
                made = func(*[self._cpu(value) for value in args], **{key: self._cpu(value) for key, value in kwargs.items()})
        except Exception:
            if name == "__setitem__" and self._is_unknown_mask(args[1]):
                # Lengths, mostly, that are shortened where a text has ended: as they were is the greatest they can be.
                make_up(args[0])
            elif name in _NARROWS and self._is_unknown_mask(args[1]) and self.of(args[0]) is not None:
                make_up(args[0])
            elif in_place:
                self._doubt(args)
            elif name in _DECIDED_BY:
                self._decide(_DECIDED_BY[name], args, result)
            return
        if in_place:
            if _has_made_up((*args[1:], *kwargs.values())):
                make_up(args[0])
            return
        roots = [shadow.root for shadow in (getattr(v, "_oomph_shadow", None) for v in args) if shadow is not None]
        made_up = _has_made_up((*args, *kwargs.values()))
        made = made if isinstance(made, (list, tuple)) else (made,)
        for item, contents in zip(results, made):
            if self._may_follow(item) and isinstance(contents, self._torch.Tensor) and contents.shape == item.shape:
                # A view goes stale with what it is a view of.
                self.attach(item, contents, roots[0] if roots and item._is_view() else None, made_up)

    def _decide(self, deciding: bool, args: Any, result: Any) -> None:
        """`unknown | True` is true, and `unknown & False` false. Of a known mask an unknown one leaves all that there is."""
        for contents in map(self.of, args[:2]):
            if contents is None or (deciding and contents.dtype != self._torch.bool):
                continue
            if bool(contents.all() if deciding else (contents == 0).all()):
                self.attach(result, self._torch.full(result.shape, deciding).to(result.dtype))
            elif not deciding and contents.dtype == result.dtype == self._torch.bool:
                self.attach(result, contents.expand(result.shape), is_made_up=True)

    def _is_unknown_mask(self, index: Any) -> bool:
        is_mask = isinstance(index, self._torch.Tensor) and index.is_cuda and index.dtype == self._torch.bool
        return is_mask and self.of(index) is None

    def _doubt(self, args: Any) -> None:
        doubt(args[0] if args and isinstance(args[0], (list, tuple)) else args[:1])

    def _fill(self, args: Any, kwargs: Any) -> None:
        """`buffer.copy_(batch)`: a buffer on the card that is filled from the host."""
        target, source = args[0], args[1] if len(args) > 1 else kwargs.get("src")
        if not isinstance(source, self._torch.Tensor) or source.device.type != "cpu" or source.requires_grad:
            return
        if self._may_follow(target) and not target._is_view():
            self.attach(target, source.detach().to(target.dtype).expand(target.shape).clone())

    def _make(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        torch = self._torch
        named = {key: value for key, value in kwargs.items() if key not in ("device", "pin_memory", "generator", "out")}
        try:
            if func in self._likes:
                made = func(torch.empty(result.shape, dtype=result.dtype), *args[1:], **named)
            elif func in self._news:
                made = func(torch.empty(0, dtype=result.dtype), *args[1:], **named)
            elif any(isinstance(value, torch.Tensor) and value.is_cuda for value in args):
                return
            else:
                if self._factories[func] in _RANDOM:
                    # The program's own random numbers stay as they are.
                    named["generator"] = self._generator
                made = func(*args, **named, device="cpu")
        except Exception:
            return
        if made.shape == result.shape:
            self.attach(result, made.to(result.dtype))
