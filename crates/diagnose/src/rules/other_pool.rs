//! OOM009: what was free belonged to the other size class.
//! Silent unless it was most of the cache and as much as the request.

use oomph_engine::torch::rounding::SMALL_LIMIT;

use super::{Evidence, Finding, RuleInfo};

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM009",
    name: "cached in the other pool",
    summary: "What was free belonged to requests of the other size class.",
    file: "other_pool.rs",
    page: "\
**Claims** that most of the cache lay in the pool of the other size class, and
that it was as much as the request or more.

**Why.** Requests of up to 1 MiB come from segments of 2 MiB, larger ones from
others. Neither pool uses the other's memory, and a segment goes back to the
driver only when nothing in it is in use: a few small tensors that live long
can hold thousands of small segments.

**What to do.** Free the small tensors, or make them before the many that are
freed again; keep many small ones as parts of one large tensor.

**Silent** without a failure or a known limit; where the request would not
have fitted anyway; where less than half of the cache is of the other class.
It names no cause: OOM002 does.

```text
100.00 MiB was free in the pool of small requests, which serves no large one
[OOM009]
  cached 100.00 MiB in all; the request is 100.00 MiB
  a segment of that pool goes back only when nothing in it is in use
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let failed = evidence.moment.failed.filter(|_| super::would_have_fitted(evidence) == Some(true))?;
    let cached = evidence.moment.counters.cached();
    let stranded = failed.other_class;
    if stranded.share_of(cached) < 0.5 || stranded < failed.size {
        return None;
    }
    let (theirs, ours) = if failed.size > SMALL_LIMIT { ("small", "large") } else { ("large", "small") };
    Some(Finding {
        rule: INFO.id,
        cause: None,
        claim: format!("{stranded} was free in the pool of {theirs} requests, which serves no {ours} one"),
        evidence: vec![
            format!("cached {cached} in all; the request is {}", failed.size),
            "a segment of that pool goes back only when nothing in it is in use".to_owned(),
        ],
    })
}
