"""Finds the newest checkpoint that is whole and this job's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oomph._oomph import OomphError

from . import file, say
from .folder import Folder, Saved
from .objects import difference
from .ranks import Ranks
from .tree import decode


@dataclass
class Loaded:
    """A checkpoint in memory: what rank 0 saved for all, and what this rank saved."""

    step: int
    shown: str
    shared: dict[str, Any]
    own: dict[str, Any]


class Loader:
    """Looks through the folder; every rank takes part, and all take the same checkpoint. `number` is the highest number
    that is there, whole or not."""

    def __init__(self, folder: Folder, ranks: Ranks, job: list[str]) -> None:
        self._folder, self._ranks, self._job = folder, ranks, job
        if any(other != job for other in ranks.gather(job)):
            raise OomphError(
                "the ranks hold different objects: oomph.checkpoint saves models that every rank has whole (DDP); use "
                "torch.distributed.checkpoint for this one"
            )
        if ranks.rank == 0:
            folder.clean()
        self._there: list[Saved] = ranks.gather(folder.list() if ranks.rank == 0 else None)[0]
        self.number = max((saved.number for saved in self._there), default=0)

    def newest(self, since: int) -> Loaded | None:
        """The newest good one that was made from `since` on (microseconds since the epoch). A line for each that is passed
        over."""
        for saved in self._there:
            loaded, why = self._try(saved, since)
            # One rank's part may be damaged.
            reasons = self._ranks.gather(why)
            why = next((why for why in reasons if why is not None), None)
            if why is None and loaded is not None:
                return loaded
            if self._ranks.rank == 0 and why:
                say.line(f"{self._folder.show(saved.called)} is passed over: {why}")
        return None

    def _try(self, saved: Saved, since: int) -> tuple[Loaded | None, str | None]:
        """The checkpoint, or why it is none; an empty reason where nothing has to be said."""
        if saved.world != self._ranks.world:
            return None, f"{_ranks(saved.world)} made it, and this job has {_ranks(self._ranks.world)}"
        if saved.missing:
            return None, f"the parts of ranks {', '.join(map(str, saved.missing))} are missing"
        try:
            names = [saved.names[rank] for rank in {0, self._ranks.rank}]
            for name in names:
                facts = file.read_facts(self._folder.join(name))
                other = difference(facts.get("job"), self._job)
                if other is not None:
                    return None, f"it is another job's: {other}"
                if (facts["number"], facts["step"]) != (saved.number, saved.step):
                    return None, "its name is not its own: a file was renamed"
                if facts["time_us"] < since:
                    return None, ""
            shared = self._read(saved.names[0])
            own = shared if self._ranks.rank == 0 else self._read(saved.names[self._ranks.rank])
        except file.Damaged as error:
            return None, str(error)
        except (KeyError, TypeError, ValueError) as error:
            return None, f"it cannot be read ({say.reason(error)})"
        return Loaded(saved.step, self._folder.show(saved.names[0]), shared, own), None

    def _read(self, name: str) -> dict[str, Any]:
        found = file.read(self._folder.join(name))
        state = decode(found.tree, found.leaves)
        if not isinstance(state, dict) or not {"objects", "extra", "randoms", "data"} <= state.keys():
            raise file.Damaged("it does not hold the state of a job")
        if not isinstance(state["objects"], list) or len(state["objects"]) != len(self._job):
            raise file.Damaged("it does not hold the objects that it names")
        return state


def _ranks(count: int) -> str:
    return "one process" if count == 1 else f"{count} ranks"
