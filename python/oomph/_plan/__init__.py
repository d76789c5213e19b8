"""What `oomph plan` adds to a process on a phantom GPU.

The phantom GPU computes nothing, so the program needs four things more: large weights are left unfilled, small values
are computed on the CPU where they can be known, nothing is saved, and once its use of memory repeats itself the rest is
done in a hurry, or the program is stopped.

Like the recorder, this folder is lent to programs whose environment has no oomph: relative imports, standard library.
"""

from __future__ import annotations

from .plan_run import PlanRun

__all__ = ["PlanRun"]
