//! OOM011: much of what was in use had been freed, and waited for another stream.
//! Silent where it is less than a tenth of what was in use.

use super::{Evidence, Finding, percent};

/// The share of what is in use from which it is worth a word.
const NOTABLE: f64 = 0.1;

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let (pending, active) = (evidence.moment.pending(), evidence.moment.counters.active);
    if pending.share_of(active) < NOTABLE || pending < oomph_trace::Bytes::mib(1) {
        return None;
    }
    Some(Finding {
        rule: "OOM011",
        cause: None,
        claim: format!(
            "{pending} of what was in use had been freed and waited for another stream ({})",
            percent(pending, active)
        ),
        evidence: vec![format!("in use {active}, of which the program had freed {pending}")],
    })
}
