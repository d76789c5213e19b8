//! OOM004: a block that would have served the request was free when it failed. PyTorch completes pending frees when
//! it gives up its cache, but does not search the cache again.

use super::{Evidence, Finding, RuleInfo};

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM004",
    name: "spurious failure",
    summary: "A free block would have served the request that failed.",
    file: "spurious.rs",
    page: "\
**Claims** that a block which would have served the request was free when it
failed.

**Why.** PyTorch completes pending frees when it gives up its cache, but does
not search the cache again.

**What to do.** Make the same request again, outside the `except` block: it
succeeds. Waiting for the other stream before large requests avoids it.

**Silent** without a failure, or where no free block of the right pool and
stream is large enough and allowed. It names no cause.

```text
the request failed although a free block would have served it [OOM004]
  largest free block 100.00 MiB, request 100.00 MiB
  its free completed during the failing request, after the cache had been
  searched
  the same request, made again, succeeds
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let failed = evidence.moment.failed.filter(|failed| failed.spurious)?;
    Some(Finding {
        rule: INFO.id,
        cause: None,
        claim: "the request failed although a free block would have served it".to_owned(),
        evidence: vec![
            format!("largest free block {}, request {}", failed.stranded.largest, failed.size),
            "its free completed during the failing request, after the cache had been searched".to_owned(),
            "the same request, made again, succeeds".to_owned(),
        ],
    })
}
