//! OOM010: what was free belonged to another stream.
//! Silent unless it was most of the cache and as much as the request.

use super::{Evidence, Finding, RuleInfo};

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM010",
    name: "cached for another stream",
    summary: "What was free belonged to another stream.",
    file: "other_stream.rs",
    page: "\
**Claims** that most of the cache belonged to streams other than the
request's, and that it was as much as the request or more.

**Why.** A block serves only the stream its segment was made for. Work that is
done on a side stream has a cache of its own, and a segment goes back to the
driver only when nothing in it is in use.

**What to do.** Make large tensors on one stream and use them on the other,
with `record_stream` or a wait; free what the side stream still holds. When
nothing of it is in use, the failing request takes the rest back by itself.

**Silent** without a failure or a known limit; where the request would not
have fitted anyway; where less than half of the cache is another stream's. It
names no cause: OOM002 does.

```text
188.00 MiB was free for other streams, and this one may not use it [OOM010]
  cached 188.00 MiB in all; the request is 150.00 MiB
  a segment of theirs goes back only when nothing in it is in use
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let failed = evidence.moment.failed.filter(|_| super::would_have_fitted(evidence) == Some(true))?;
    let cached = evidence.moment.counters.cached();
    let stranded = failed.stranded.other_stream;
    if stranded.share_of(cached) < 0.5 || stranded < failed.size {
        return None;
    }
    Some(Finding {
        rule: INFO.id,
        cause: None,
        claim: format!("{stranded} was free for other streams, and this one may not use it"),
        evidence: vec![
            format!("cached {cached} in all; the request is {}", failed.size),
            "a segment of theirs goes back only when nothing in it is in use".to_owned(),
        ],
    })
}
