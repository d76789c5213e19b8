//! OOM008: one request dwarfs everything else.
//! Silent without a failure or a known limit, and where other allocations are of the same order.

use oomph_engine::recording::LimitSource;

use super::{Evidence, Finding, RuleInfo};

/// The share of the limit from which a request is large by itself.
const HALF: f64 = 0.5;
/// The share of the limit from which a request is large if it is also many times the next largest.
const NOTABLE: f64 = 0.1;
/// How many times.
const MANY: u64 = 4;

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM008",
    name: "one large request",
    summary: "The request that failed is larger than everything else.",
    file: "large_request.rs",
    page: "\
**Claims** that the request that failed takes half of the limit by itself, or
a tenth of it and four times as much as any other allocation in use.

**Why.** One tensor is larger than was thought: logits over a whole vocabulary
copied to a wider type, a matrix of attention scores, the distances between
all pairs, a whole data set moved at once, a shape with two axes exchanged.

**What to do.** Look at the line and work out the shape: bytes ÷ bytes per
element. Do it in pieces, in a smaller type, or with an operator that does not
make the tensor (fused attention, fused cross entropy).

**Silent** without a failure or a known limit, and where something in use is
of the same order. It names no cause.

```text
one request is larger than everything else: 3.00 GiB [OOM008]
  limit about 4.00 GiB, largest allocation in use 512.00 MiB
  in float32 that is 805306368 elements
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let size = evidence.moment.failed?.size;
    let recording = evidence.recording;
    let largest = evidence.moment.largest;
    // An inferred limit may lie anywhere below what was refused.
    let refused = recording.program.limit.below.filter(|_| recording.limit_source == LimitSource::Refusals);
    let share = size.share_of(recording.setup.capacity.or(refused).or(recording.ceiling())?);
    let dwarfs = share >= NOTABLE && size.0 / MANY >= largest.0;
    if size <= largest || !(share >= HALF || dwarfs) {
        return None;
    }
    Some(Finding {
        rule: INFO.id,
        cause: None,
        claim: format!("one request is larger than everything else: {size}"),
        evidence: vec![
            format!("limit {}, largest allocation in use {largest}", recording.ceiling_text()),
            format!("in float32 that is {} elements", size.0 / 4),
        ],
    })
}
