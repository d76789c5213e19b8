"""Programs that start the ranks: torchrun, and accelerate, which uses it. They start one, in their own place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from .world import variables


def watch(module: Any, rank: int) -> None:
    """`module` is torch.distributed.launcher.api."""

    def launch(self: Any, *args: Any) -> Any:
        config, entry = self._config, self._entrypoint
        per_node, nodes = int(config.nproc_per_node), int(config.max_nodes)
        if rank >= per_node * nodes:
            raise ValueError(f"there is no rank {rank}: the launcher starts {per_node * nodes}")
        told = variables(rank, per_node, nodes)
        # What the user sets is kept, as torchrun keeps it.
        told = {name: word for name, word in told.items() if name != "OMP_NUM_THREADS" or name not in os.environ}
        os.environ.update(told)
        if callable(entry):
            return {rank: entry(*args)}
        see_cards(per_node)
        os.execvp(entry, [entry, *map(str, args)])

    module.elastic_launch.__call__ = launch


def prepare(words: list[str]) -> None:
    """Accelerate starts several ranks only where it sees several cards; `words` are its command line."""
    if not any(os.path.basename(word).startswith("accelerate") for word in words[:1]):
        return
    flags = dict(_flags(words))
    ranks, nodes = flags.get("num_processes", 0), max(flags.get("num_machines", 1), 1)
    if ranks > nodes:
        see_cards(ranks // nodes)


def _flags(words: list[str]) -> Iterator[tuple[str, int]]:
    """The flags that have a number: `--num_processes 8`, `--num-processes=8`."""
    for word, following in zip(words, [*words[1:], ""]):
        name, is_joined, number = word.partition("=")
        number = number if is_joined else following
        if name.startswith("--") and number.isdigit():
            yield name[2:].replace("-", "_"), int(number)


def see_cards(count: int) -> None:
    """The phantom shows so many cards, to this process if it has not looked yet, and to those that follow."""
    described = re.sub(r";?devices=\d+", "", os.environ.get("OOMPH_PHANTOM", ""))
    os.environ["OOMPH_PHANTOM"] = f"{described};devices={count}"
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(count)))
