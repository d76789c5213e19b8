//! OOM013: blocks are much larger than what was asked for.
//! Silent where it is less than a tenth of what is in use.

use super::{Evidence, Finding, percent};

/// The share of what is in use from which it is worth a word.
const NOTABLE: f64 = 0.1;

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
        rule: "OOM013",
        cause: None,
        claim: format!(
            "{slack} of what was in use was never asked for ({})",
            percent(slack, counters.active)
        ),
        evidence: lines,
    })
}
