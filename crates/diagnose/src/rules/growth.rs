//! OOM003: memory in use grows with every iteration.
//!
//! It is the cause of a failure if it leaves no room for two more iterations even to a perfect allocator; otherwise
//! there was room, and why it could not be used is another rule's business.

use super::{Cause, Evidence, Finding, RuleInfo};

/// How many lines are named.
const NAMED: usize = 3;

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM003",
    name: "growth",
    summary: "Memory in use grows with every step: a leak.",
    file: "growth.rs",
    page: "\
**Claims** that memory in use grows with every step, by how much, and from
which lines. It is the cause if it leaves no room for two more steps even to a
perfect allocator: in use + request + 2 × growth > limit.

**Why.** Something keeps what a step made: a list of losses that were not
detached, outputs gathered on the GPU, a cache without a bound.

**What to do.** Look at the lines named. Keep `loss.item()` or
`loss.detach()`, move what is gathered to the CPU, bound the cache. OOM006 and
OOM007 say more where they can. No setting cures growth.

**Silent** unless at least 4 steps were found; the first ones, which fill
caches and optimizer state, do not count. Growth must hardly ever fall (at
most one step in five), its last third must lie above all of its first third,
and it must amount to 1 MiB and 1% of the peak. Steps are found from requests
that recur, told apart by stack, or by size where no stacks were recorded.

```text
memory in use grows by 144.00 MiB with every step [OOM003]
  2.27 GiB at the start of step 13, 3.81 GiB at the start of step 24
  144.00 MiB a step from train.py:115 case_leak
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let growth = evidence.steps.growth.as_ref()?;
    let mut lines = vec![format!(
        "{} at the start of step {}, {} at the start of step {}",
        evidence.steps.baseline[evidence.steps.baseline.len() - 1 - growth.steps],
        evidence.steps.number(evidence.steps.baseline.len() - growth.steps),
        evidence.steps.baseline.last().copied().unwrap_or_default(),
        evidence.steps.number(evidence.steps.baseline.len()),
    )];
    for (place, bytes) in growth.lines.iter().take(NAMED) {
        let line = place.as_ref().map_or_else(
            || "no stack recorded".to_owned(),
            |place| format!("{}:{} {}", place.line.file_name(), place.line.line, place.line.function),
        );
        lines.push(format!("{bytes} a step from {line}"));
    }
    let left =
        evidence.recording.ceiling().map(|ceiling| ceiling.saturating_sub(evidence.moment.counters.active));
    if evidence.moment.failed.is_none()
        && let Some(steps) = left.and_then(|left| left.0.checked_div(growth.per_step.0))
    {
        lines.push(format!("the limit is {steps} steps away"));
    }
    Some(Finding {
        rule: INFO.id,
        cause: is_cause(evidence).then_some(Cause::Leak),
        claim: format!("memory in use grows by {} with every step", growth.per_step),
        evidence: lines,
    })
}

/// Whether growth alone would have ended the job within two iterations.
pub(super) fn is_cause(evidence: &Evidence<'_>) -> bool {
    let (Some(growth), Some(failed)) = (&evidence.steps.growth, evidence.moment.failed) else { return false };
    let needed = evidence.moment.counters.active + failed.size;
    let in_two_steps = needed + growth.per_step + growth.per_step;
    evidence.recording.ceiling().is_some_and(|ceiling| in_two_steps > ceiling)
}
