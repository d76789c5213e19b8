"""Which of several a program picks by values that only a GPU could have computed: the experts of a token, the order of nodes.

Nobody knows them, and what is computed afterwards hangs on how many of each there are. So all are picked equally often, in
turn, and what is sorted stands in order. Contents that are made up so are followed like known ones.
"""

from __future__ import annotations

from typing import Any

# Of so many at most: experts, classes, groups. Words of a vocabulary are more, and one of them would end a text.
MOST_CHOICES = 512


class Picks:
    """Makes up the contents of indices."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        tensor = torch.Tensor
        self._several = {torch.topk, tensor.topk}
        self._single = {torch.argmax, tensor.argmax}
        self._pairs = self._several | {torch.max, tensor.max}
        self._orders = {torch.sort, tensor.sort, torch.argsort, tensor.argsort}
        self.functions = self._single | self._pairs | self._orders

    def indices(self, func: Any, args: Any, kwargs: Any, result: Any) -> tuple[Any, Any] | None:
        """Those in the result of one of these functions for unknown values, and what they are made up to be."""
        source = args[0] if args else kwargs.get("input")
        is_alone = isinstance(result, self._torch.Tensor)
        if func not in (self._single if is_alone else self._pairs) and func not in self._orders:
            # Without a dimension `max` gives the number itself.
            return None
        picked = result if is_alone else getattr(result, "indices", None)
        if not isinstance(source, self._torch.Tensor) or picked is None or picked.dtype != self._torch.long or not source.is_cuda:
            return None
        if func in self._orders:
            # Of several rows each would be sorted by itself; that is how words are sampled.
            made = self._torch.arange(picked.numel()) if picked.dim() == 1 else None
        else:
            made = self._in_turn(func, source, picked, args, kwargs)
        return None if made is None else (picked, made)

    def _in_turn(self, func: Any, source: Any, picked: Any, args: Any, kwargs: Any) -> Any:
        # topk is told before the dimension how many to pick.
        place = 2 if func in self._several else 1
        named = args[place] if len(args) > place else kwargs.get("dim", -1)
        if not isinstance(named, int):
            return None
        dim = named % max(source.dim(), 1)
        choices = source.shape[dim] if source.dim() else 0
        if source.dim() == 1 and picked.numel() > 1:
            # A selection of elements: each is picked once.
            return self._torch.arange(picked.numel())
        if not 0 < choices <= MOST_CHOICES or picked.numel() < choices:
            return None
        turn = self._torch.arange(picked.numel()) % choices
        if picked.dim() == source.dim():
            moved = picked.movedim(dim, -1).shape
            return turn.view(moved).movedim(-1, dim)
        return turn.view(picked.shape)
