//! OOM002: what was in use and the request fitted together, but the rest lay in pieces that could not serve it.
//! Without a failure: much more was held at the peak than was in use.

use oomph_trace::Bytes;

use super::{Cause, Evidence, Finding, RuleInfo};

/// Held beyond the peak in use, as a share of it, from which it is worth a word.
const NOTABLE: f64 = 0.10;

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM002",
    name: "fragmentation",
    summary: "There was enough, in pieces that could not serve the request.",
    file: "fragmentation.rs",
    page: "\
**Claims**, for a failure, that in use + request ≤ limit, but nothing free
could serve it. The evidence says what was cached and not held, and the cached
bytes by the reason they did not help. It is the cause unless OOM003 is.
Without a failure: peak reserved exceeds peak active by 10% or more. That
names no cause.

**Why.** PyTorch keeps what is freed. A segment goes back to the driver only
when nothing in it is in use; one small block holds all of it.

**What to do.** Set what the replay says helps; `oomph tune` searches more
settings. `empty_cache()` gives back only what \"could be given back\" shows.

**Silent** for a failure without a known limit, or where OOM001's sum exceeds
it.

```text
2.89 GiB was free, but in pieces: none could serve 180.00 MiB [OOM002]
  in use 3.11 GiB + request 180.00 MiB = 3.28 GiB, limit about 6.00 GiB
  cached 2.73 GiB, not held 164.00 MiB: 2.89 GiB free in all
  2.73 GiB cached in blocks smaller than the request (largest 14.00 MiB)
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    match evidence.moment.failed {
        Some(failed) => {
            let ceiling = evidence.recording.ceiling()?;
            let counters = &evidence.moment.counters;
            let needed = counters.active + failed.size;
            if needed > ceiling {
                return None;
            }
            let unheld = ceiling.saturating_sub(counters.reserved);
            let stranded = &failed.stranded;
            let mut lines = vec![
                format!(
                    "in use {} + request {} = {needed}, limit {}",
                    counters.active,
                    failed.size,
                    evidence.recording.ceiling_text()
                ),
                format!(
                    "cached {}, not held {unheld}: {} free in all",
                    counters.cached(),
                    counters.cached() + unheld
                ),
            ];
            let reasons = [
                (
                    stranded.too_small,
                    format!("in blocks smaller than the request (largest {})", stranded.largest),
                ),
                (stranded.other_pool, "in another pool".to_owned()),
                (stranded.other_stream, "for another stream".to_owned()),
                (stranded.refused, "in blocks that a setting keeps from being used".to_owned()),
            ];
            for (bytes, reason) in reasons.into_iter().filter(|(bytes, _)| *bytes > Bytes::ZERO) {
                lines.push(format!("{bytes} cached {reason}"));
            }
            Some(Finding {
                rule: INFO.id,
                cause: (!super::growth::is_cause(evidence)).then_some(Cause::Fragmentation),
                claim: format!(
                    "{} was free, but in pieces: none could serve {}",
                    counters.cached() + unheld,
                    failed.size
                ),
                evidence: lines,
            })
        }
        None => {
            let (active, reserved) =
                (evidence.recording.peaks.active.bytes, evidence.recording.peaks.reserved.bytes);
            let beyond = reserved.saturating_sub(active);
            if beyond.share_of(active) < NOTABLE {
                return None;
            }
            let at_once = evidence.recording.trace().events.is_empty();
            let held = if at_once { "is held than is" } else { "was held than was ever" };
            Some(Finding {
                rule: INFO.id,
                cause: None,
                claim: format!("{beyond} more {held} in use ({:.0}%)", 100.0 * beyond.share_of(active)),
                evidence: vec![format!("peak in use {active}, peak held {reserved}")],
            })
        }
    }
}
