//! OOM011: much of what was in use had been freed, and waited for another stream.
//! Silent where it is less than a tenth of what was in use.

use super::{Evidence, Finding, RuleInfo, percent};

/// The share of what is in use from which it is worth a word.
const NOTABLE: f64 = 0.1;

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM011",
    name: "frees that wait",
    summary: "Memory was freed, but another stream had not finished with it.",
    file: "pending.rs",
    page: "\
**Claims** that a tenth or more of what was in use, at the failure or at the
peak, had been freed by the program and waited for another stream.

**Why.** After `record_stream` a block that is freed can be used again only
when the other stream has come that far. A program that runs ahead of the GPU
has many such blocks at once.

**What to do.** Let the tensor live until the other stream has waited for it,
instead of `record_stream`; let the program run ahead less (fewer batches
prefetched, a wait per step).

**Silent** where less waits, or less than 1 MiB. A request that fails has
waited for all of it, so at a failure it speaks only during the capture of a
graph. It names no cause.

```text
60.00 MiB of what was in use had been freed and waited for another stream
(13%) [OOM011]
  in use 460.00 MiB, of which the program had freed 60.00 MiB
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let (pending, active) = (evidence.moment.pending(), evidence.moment.counters.active);
    if pending.share_of(active) < NOTABLE || pending < oomph_trace::Bytes::mib(1) {
        return None;
    }
    Some(Finding {
        rule: INFO.id,
        cause: None,
        claim: format!(
            "{pending} of what was in use had been freed and waited for another stream ({})",
            percent(pending, active)
        ),
        evidence: vec![format!("in use {active}, of which the program had freed {pending}")],
    })
}
