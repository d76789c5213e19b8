//! OOM013: blocks are much larger than what was asked for.
//! Silent where it is less than a tenth of what is in use.

use super::{Evidence, Finding, RuleInfo, percent};

/// The share of what is in use from which it is worth a word.
const NOTABLE: f64 = 0.1;

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM013",
    name: "slack from rounding",
    summary: "Blocks are much larger than what was asked for.",
    file: "slack.rs",
    page: "\
**Claims** that a tenth or more of what was in use, at the failure or at the
peak, was never asked for: it is slack, from rounding up and from blocks that
were not split. It names the settings that make it.

**Why.** `roundup_power2_divisions` rounds every request up so that blocks fit
again later. `max_split_size_mb` hands out large blocks whole. Without either,
a rest of up to 1 MiB is not split off, and small requests become 512 bytes.

**What to do.** More divisions, or none; see what the replay says of each.
Without such settings: keep many small tensors as parts of one.

**Silent** where it is less, or 1 MiB at most. It names no cause.

```text
70.00 MiB of what was in use was never asked for (29%) [OOM013]
  in use 240.00 MiB, asked for 170.00 MiB
  set: roundup_power2_divisions:2
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let counters = &evidence.moment.counters;
    let slack = counters.active.saturating_sub(counters.requested);
    if slack.share_of(counters.active) < NOTABLE || slack <= oomph_trace::Bytes::mib(1) {
        return None;
    }
    let options = &evidence.recording.setup.options;
    let settings = options.to_string();
    let rounds = !options.roundup_power2_divisions.is_off() || options.max_split_size.is_some();
    let mut lines = vec![format!("in use {}, asked for {}", counters.active, counters.requested)];
    lines.push(if rounds {
        format!("set: {settings}")
    } else {
        "no setting rounds: it is rests of up to 1 MiB that are not split off".to_owned()
    });
    Some(Finding {
        rule: INFO.id,
        cause: None,
        claim: format!(
            "{slack} of what was in use was never asked for ({})",
            percent(slack, counters.active)
        ),
        evidence: lines,
    })
}
