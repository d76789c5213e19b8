"""What `oomph plan` adds to a process on a GPU that is not there.

The phantom GPU computes nothing, so three things have to be done for the program beside it: weights are never filled,
small values that can be known are, and the program is stopped once its memory repeats itself.

Like the recorder, this folder is lent to programs whose environment has no oomph: relative imports, standard library.
"""

from __future__ import annotations

from .plan_run import PlanRun

__all__ = ["PlanRun"]
