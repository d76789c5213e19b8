"""Functions whose result's length depends on values: it is the true one where the values are known, else the greatest
there can be, and said so."""

from __future__ import annotations

import sys
from typing import Any

from . import phantom
from .questions import Questions
from .shadows import MOST_INTEGERS, Shadows, is_made_up

Answer = tuple[bool, Any]
_NO: Answer = (False, None)


class Shapes:
    """Answers in the place of such functions."""

    def __init__(self, torch: Any, shadows: Shadows, questions: Questions) -> None:
        self._torch = torch
        self._shadows = shadows
        self._questions = questions
        tensor = torch.Tensor
        self.handlers: dict[Any, Any] = {
            torch.nonzero: self._nonzero,
            tensor.nonzero: self._nonzero,
            torch.argwhere: self._nonzero,
            tensor.argwhere: self._nonzero,
            torch.masked_select: self._masked_select,
            tensor.masked_select: self._masked_select,
            torch.where: self._where,
            tensor.__getitem__: self._index,
            tensor.__setitem__: self._put,
            torch.index_put: self._index_put,
            tensor.index_put: self._index_put,
            tensor.index_put_: self._index_put,
            torch.unique: self._unique,
            tensor.unique: self._unique,
            torch.unique_consecutive: self._unique,
            tensor.unique_consecutive: self._unique,
            torch.repeat_interleave: self._repeat,
            tensor.repeat_interleave: self._repeat,
            torch.bincount: self._bincount,
            tensor.bincount: self._bincount,
            torch.sparse_coo_tensor: self._sparse,
            tensor.coalesce: self._coalesce,
            torch.normal: self._sound,
            torch.linalg.eig: self._sound,
            torch.linalg.eigvals: self._sound,
            torch.ctc_loss: self._ctc_loss,
            torch.nn.functional.ctc_loss: self._ctc_loss,
        }
        self._named = {"torchvision::nms": self._non_maximum}
        if hasattr(torch, "_nested_tensor_from_mask"):
            # TransformerEncoder in evaluation leaves out what is padded.
            self.handlers[torch._nested_tensor_from_mask_left_aligned] = self._is_left_aligned
            self.handlers[torch._nested_tensor_from_mask] = self._nested

    def handler(self, func: Any) -> Any:
        """What answers for a function; None for most. Operators of other packages go by their names."""
        return self.handlers.get(func) or self._named.get(getattr(func, "_qualified_op_name", ""))

    def _count(self, mask: Any, kind: str, width: int) -> int:
        """How many elements of a tensor are not zero; all of them where it is unknown."""
        contents = self._shadows.of(mask)
        if contents is not None:
            if is_made_up(mask):
                self._questions.value(kind)
            return int(contents.count_nonzero())
        self._questions.shape(kind, mask.numel() * width)
        return int(mask.numel())

    def _positions(self, mask: Any, kind: str) -> Any:
        """What `nonzero` gives: one row for each element that is not zero."""
        torch = self._torch
        count = self._count(mask, kind, 8 * max(mask.dim(), 1))
        # The real one writes columns: the rows are a view of them.
        found = torch.empty((mask.dim(), count), dtype=torch.long, device=mask.device).t()
        contents = self._shadows.of(mask)
        if contents is not None:
            self._shadows.attach(found, contents.nonzero(), is_made_up=is_made_up(mask))
        elif count * mask.dim() <= MOST_INTEGERS:
            self._shadows.attach(found, torch.ones(mask.shape, dtype=torch.bool).nonzero(), is_made_up=True)
        return found

    def _nonzero(self, func: Any, args: Any, kwargs: Any) -> Answer:
        mask = args[0] if args else kwargs.get("input")
        if not mask.is_cuda or kwargs.get("out") is not None:
            return _NO
        found = self._positions(mask, "nonzero")
        if kwargs.get("as_tuple"):
            return True, self._columns(found)
        return True, found

    def _columns(self, found: Any) -> tuple[Any, ...]:
        columns = found.unbind(1)
        contents = self._shadows.of(found)
        if contents is not None:
            for column, known in zip(columns, contents.unbind(1)):
                self._shadows.attach(column, known, is_made_up=is_made_up(found))
        return tuple(columns)

    def _where(self, func: Any, args: Any, kwargs: Any) -> Answer:
        if len(args) != 1 or kwargs or not args[0].is_cuda:
            return _NO
        return True, self._columns(self._positions(args[0], "where"))

    def _masked_select(self, func: Any, args: Any, kwargs: Any) -> Answer:
        source, mask = args[0], args[1] if len(args) > 1 else kwargs["mask"]
        if not source.is_cuda or kwargs.get("out") is not None:
            return _NO
        contents, guessed = self._shadows.of(mask), is_made_up(mask)
        source, mask = self._torch.broadcast_tensors(source, mask)
        if contents is not None:
            # A tensor of its own: the one that was given keeps its own contents.
            mask = mask.view(mask.shape)
            self._shadows.attach(mask, contents.expand(mask.shape), is_made_up=guessed)
        return True, source[self._columns(self._positions(mask, "masked_select"))]

    def _is_mask(self, item: Any) -> bool:
        torch = self._torch
        return isinstance(item, torch.Tensor) and item.is_cuda and item.dtype in (torch.bool, torch.uint8)

    def _known(self, index: Any, kind: str) -> Any:
        """An index with its masks replaced by positions, or None where there is no mask in it."""
        items = index if isinstance(index, tuple) else (index,)
        if not any(self._is_mask(item) for item in items):
            return None
        replaced: list[Any] = []
        for item in items:
            replaced += self._columns(self._positions(item, kind)) if self._is_mask(item) else [item]
        return tuple(replaced)

    def _index(self, func: Any, args: Any, kwargs: Any) -> Answer:
        source, index = args
        if not source.is_cuda:
            return _NO
        sliced = self._with_bounds(source, index)
        known = self._known(index if sliced is None else sliced, "boolean index")
        known = sliced if known is None else known
        return _NO if known is None else (True, self._shadows.call(func, (source, known), {}))

    def _with_bounds(self, source: Any, index: Any) -> Any:
        """An index whose slices end at numbers, or None where no tensor is among their ends."""
        torch = self._torch
        items = index if isinstance(index, tuple) else (index,)
        slices = [item for item in items if isinstance(item, slice)]
        if not any(isinstance(end, torch.Tensor) and end.is_cuda for item in slices for end in (item.start, item.stop)):
            return None

        def bound(end: Any) -> Any:
            if not isinstance(end, torch.Tensor) or not end.is_cuda:
                return end
            contents = self._shadows.of(end)
            if contents is not None:
                if is_made_up(end):
                    self._questions.value("slice")
                return int(contents)
            # From the beginning, or to the end.
            self._questions.shape("slice", source.numel() * source.element_size())
            return None

        return tuple(
            slice(bound(item.start), bound(item.stop), item.step) if isinstance(item, slice) else item for item in items
        )

    def _put(self, func: Any, args: Any, kwargs: Any) -> Answer:
        source, index, value = args
        items = index if isinstance(index, tuple) else (index,)
        is_number = not isinstance(value, self._torch.Tensor) or value.dim() == 0
        if not source.is_cuda or (is_number and len(items) == 1):
            # A number is filled in where the mask is true, and nobody counts.
            return _NO
        known = self._places(source, items, value)
        if known is None:
            return _NO
        contents = self._shadows.of(source) if self._is_mask(index) and self._shadows.of(index) is None else None
        self._shadows.call(func, (source, known, value), {})
        if contents is not None:
            # As for a number that is written where an unknown mask is true.
            self._shadows.attach(source, contents, is_made_up=True)
        return True, None

    def _index_put(self, func: Any, args: Any, kwargs: Any) -> Answer:
        source, index, value = args[:3]
        if not source.is_cuda:
            return _NO
        known = self._places(source, tuple(index), value)
        return _NO if known is None else (True, self._shadows.call(func, (source, known, *args[2:]), kwargs))

    def _places(self, source: Any, items: tuple[Any, ...], value: Any) -> Any:
        """An index into which values are written, with its masks replaced by positions; None where there is no mask in it."""
        masks = [item for item in items if self._is_mask(item)]
        if len(masks) != 1 or self._shadows.of(masks[0]) is not None or not isinstance(value, self._torch.Tensor):
            return self._known(items, "boolean index")
        # There are as many true elements as the value has rows: its own shape says it.
        mask = masks[0]
        taken = sum(isinstance(item, (int, self._torch.Tensor)) for item in items) - 1
        rest = source.dim() - mask.dim() - taken + sum(item is None for item in items)
        rows = value.shape[0] if value.dim() == rest + 1 else 1
        if rows == 1 and mask.numel() > 1:
            return self._known(items, "boolean index")
        columns = self._torch.empty((mask.dim(), rows), dtype=self._torch.long, device=mask.device).unbind(0)
        found: list[Any] = []
        for item in items:
            found += columns if item is mask else [item]
        return tuple(found)

    def _unique(self, func: Any, args: Any, kwargs: Any) -> Answer:
        source = args[0]
        if not source.is_cuda or kwargs.get("dim") is not None:
            return _NO
        contents = self._shadows.of(source)
        if contents is None:
            self._questions.shape("unique", source.numel() * source.element_size())
            made = func(self._torch.arange(source.numel()).to(source.dtype).view(source.shape), *args[1:], **kwargs)
        else:
            made = func(contents, *args[1:], **kwargs)
        parts = made if isinstance(made, tuple) else (made,)
        moved = []
        for part in parts:
            fresh = self._torch.empty(part.shape, dtype=part.dtype, device=source.device)
            if contents is not None:
                self._shadows.attach(fresh, part, is_made_up=is_made_up(source))
            moved.append(fresh)
        return True, tuple(moved) if isinstance(made, tuple) else moved[0]

    def _repeat(self, func: Any, args: Any, kwargs: Any) -> Answer:
        repeats = args[1] if len(args) > 1 else kwargs.get("repeats", args[0] if args else None)
        if not isinstance(repeats, self._torch.Tensor) or not repeats.is_cuda or kwargs.get("output_size") is not None:
            return _NO
        contents = self._shadows.of(repeats)
        if contents is None:
            # There is no greatest length: each is taken once.
            self._questions.value("repeat_interleave")
            with phantom.answers(b"\1"):
                return True, self._shadows.call(func, args, {**kwargs, "output_size": int(repeats.numel())})
        return True, self._shadows.call(func, args, {**kwargs, "output_size": int(contents.sum())})

    def _bincount(self, func: Any, args: Any, kwargs: Any) -> Answer:
        source = args[0]
        contents = self._shadows.of(source)
        least = kwargs.get("minlength", 0)
        # Nobody knows what is in each bin, but how much there is in all.
        is_shared = contents is None and 0 < least <= MOST_INTEGERS and len(args) == 1 and kwargs.get("weights") is None
        if not source.is_cuda or contents is None and not is_shared:
            return _NO
        if contents is None:
            made = self._torch.full((least,), source.numel() // least)
            made[: source.numel() % least] += 1
        else:
            made = func(contents, minlength=least)
        fresh = self._torch.zeros(made.shape, dtype=made.dtype, device=source.device)
        self._shadows.attach(fresh, made, is_made_up=is_shared or is_made_up(source))
        return True, fresh

    def _non_maximum(self, func: Any, args: Any, kwargs: Any) -> Answer:
        """Boxes that overlap no better one: all of them, before the program takes its best hundred. Where a detector is
        trained, what is proposed is matched with what is there, and hardly any of it is a match in the beginning."""
        boxes = args[0]
        if not boxes.is_cuda or boxes.shape[0] == 0 or self._torch.is_grad_enabled():
            return _NO
        self._questions.shape("nms", boxes.shape[0] * 8)
        with phantom.answers(boxes.shape[0].to_bytes(8, sys.byteorder)):
            return True, self._shadows.call(func, args, kwargs)

    def _ctc_loss(self, func: Any, args: Any, kwargs: Any) -> Answer:
        """Its lengths are read back from the card, where there are none."""
        names = ("log_probs", "targets", "input_lengths", "target_lengths")
        words = {**dict(zip(names, args)), **kwargs}
        if words["targets"].dtype != self._torch.long:
            # cuDNN's own loss leaves them on the card.
            return _NO
        for name in names[2:]:
            contents = self._shadows.of(words[name]) if isinstance(words[name], self._torch.Tensor) else None
            if contents is not None:
                words[name] = contents.tolist()
        rest = {key: word for key, word in words.items() if key not in names}
        return True, func(*(words[name] for name in names), *args[4:], **rest)

    def _sound(self, func: Any, args: Any, kwargs: Any) -> Answer:
        """It reads back whether its values are sound: no deviation is negative, all numbers are finite."""
        words = [*args, *kwargs.values()]
        if not any(isinstance(word, self._torch.Tensor) and word.is_cuda for word in words):
            return _NO
        with phantom.answers(b"\1"):
            return True, self._shadows.call(func, args, kwargs)

    def _sparse(self, func: Any, args: Any, kwargs: Any) -> Answer:
        made = func(*args, **kwargs)
        if args and isinstance(args[0], self._torch.Tensor):
            made._oomph_places = self._shadows.of(args[0])
        return True, made

    def _coalesce(self, func: Any, args: Any, kwargs: Any) -> Answer:
        source = args[0]
        if not source.is_cuda or source.is_coalesced() or source._nnz() < 2:
            return _NO
        places = getattr(source, "_oomph_places", None)
        if places is None:
            values = source._values()
            self._questions.shape("coalesce", values.numel() * values.element_size())
        count = source._nnz() if places is None else places.unique(dim=1).shape[1]
        with phantom.answers(count.to_bytes(8, sys.byteorder)):
            return True, func(*args, **kwargs)

    def _is_left_aligned(self, func: Any, args: Any, kwargs: Any) -> Answer:
        mask = self._shadows.of(args[1])
        return _NO if mask is None else (True, bool((mask.long().diff(dim=1) <= 0).all()))

    def _nested(self, func: Any, args: Any, kwargs: Any) -> Answer:
        source, mask = args[0], self._shadows.of(args[1])
        if not source.is_cuda or mask is None:
            return _NO
        sizes = [size for length in mask.sum(1).tolist() for size in (length, source.shape[2])]
        with phantom.answers(b"".join(size.to_bytes(8, sys.byteorder) for size in sizes)):
            return True, func(source, args[1], mask_check=False)
