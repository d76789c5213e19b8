//! OOM012: private pools cache memory that nobody else may use.
//! Silent where it is less than a tenth of what is held, or at a failure less than the request.

use super::{Evidence, Finding, RuleInfo, percent};

/// The share of what is held from which it is worth a word.
const NOTABLE: f64 = 0.1;

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM012",
    name: "private pools",
    summary: "Private pools cache memory that no one else may use.",
    file: "private_pools.rs",
    page: "\
**Claims**, for a failure, that private pools in use had cached as much as the
request or more. Without a failure: that at the peak they cached a tenth or
more of what was held.

**Why.** The memory of a captured CUDA graph, or of a `MemPool`, stays its own
until the graph or the pool is gone, free or not. `empty_cache()` does not
touch it.

**What to do.** Let the graphs of one model share a pool
(`graph.pool()`, `torch.cuda.graph_pool_handle()`), capture the largest first,
capture fewer shapes, and delete graphs that are not used any more.

**Silent** where it is less. It names no cause.

```text
188.00 MiB was cached by private pools, which only they may use (94%)
[OOM012]
  held 200.00 MiB, of which in use 12.00 MiB
  it goes back to the driver only when its graphs or pools are gone
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let moment = evidence.moment;
    let (private, reserved) = (moment.private, moment.counters.reserved);
    let notable = match moment.failed {
        Some(failed) => private >= failed.size,
        None => private.share_of(reserved) >= NOTABLE,
    };
    if !notable {
        return None;
    }
    Some(Finding {
        rule: INFO.id,
        cause: None,
        claim: format!(
            "{private} was cached by private pools, which only they may use ({})",
            percent(private, reserved)
        ),
        evidence: vec![
            format!("held {reserved}, of which in use {}", moment.counters.active),
            "it goes back to the driver only when its graphs or pools are gone".to_owned(),
        ],
    })
}
