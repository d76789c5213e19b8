//! OOM001: what was in use and the request together exceed the limit; no allocator could have served it.

use oomph_engine::recording::LimitSource;

use super::{Cause, Evidence, Finding, RuleInfo};

/// Where the bounds of an inferred limit lie further apart than this share, what is missing cannot be told.
const VAGUE: f64 = 0.05;

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM001",
    name: "capacity",
    summary: "More was needed than there is: no allocator could have served it.",
    file: "capacity.rs",
    page: "\
**Claims** that in use + request > limit: no allocator could have served the
request. Where the bounds of an inferred limit lie more than 5% apart, it does
not say by how much.

**Why.** Weights, gradients, optimizer state and activations together are
larger than the card, or than the share of it the process may use.

**What to do.** Need less: a smaller batch with gradient accumulation, half
types, gradient checkpointing, an optimizer with less state. Settings of the
allocator and `empty_cache()` cannot help.

**Silent** without a failure or a known limit, and where OOM003 is the cause.

```text
52.00 MiB more was needed than there is [OOM001]
  in use 1.95 GiB + request 100.00 MiB = 2.05 GiB, limit about 2.00 GiB
  cached and unusable: 0 B
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let failed = evidence.moment.failed?;
    let ceiling = evidence.recording.ceiling()?;
    let active = evidence.moment.counters.active;
    let needed = active + failed.size;
    if needed <= ceiling || super::growth::is_cause(evidence) {
        return None;
    }
    let bounds = &evidence.recording.program.limit;
    // The driver's own account of a card that the recorder described leaves nothing to doubt.
    let certain = evidence.recording.setup.capacity.is_some()
        && evidence.recording.snapshot.sidecar.as_ref().is_some_and(|sidecar| !sidecar.devices.is_empty());
    let below = bounds.below.filter(|_| evidence.recording.limit_source == LimitSource::Refusals && !certain);
    let claim = match below.filter(|below| below.saturating_sub(bounds.at_least).share_of(*below) > VAGUE) {
        Some(below) => format!("{needed} was needed in all, and the limit is less than {below}"),
        None => format!("{} more was needed than there is", needed - ceiling),
    };
    Some(Finding {
        rule: INFO.id,
        cause: Some(Cause::Capacity),
        claim,
        evidence: vec![
            format!(
                "in use {active} + request {} = {needed}, limit {}",
                failed.size,
                evidence.recording.ceiling_text()
            ),
            format!("cached and unusable: {}", evidence.moment.counters.cached()),
        ],
    })
}
