//! OOM002: what was in use and the request fitted together, but the rest lay in pieces that could not serve it.
//! Without a failure: much more was held at the peak than was in use.

use oomph_trace::Bytes;

use super::{Cause, Evidence, Finding};

/// Held beyond the peak in use, as a share of it, from which it is worth a word.
const NOTABLE: f64 = 0.10;

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
                rule: "OOM002",
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
                rule: "OOM002",
                cause: None,
                claim: format!("{beyond} more {held} in use ({:.0}%)", 100.0 * beyond.share_of(active)),
                evidence: vec![format!("peak in use {active}, peak held {reserved}")],
            })
        }
    }
}
