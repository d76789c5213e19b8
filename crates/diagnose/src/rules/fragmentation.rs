//! OOM002: what was in use and the request fitted together, but the rest lay in pieces that could not serve it.
//! Without a failure: much more was held at the peak than was in use.

use oomph_trace::Bytes;

use super::{Cause, Evidence, Finding, percent};
use crate::moment::Failure;

/// Held beyond the peak in use, as a share of it, from which it is worth a word.
const NOTABLE: f64 = 0.10;

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    match evidence.moment.failed {
        Some(failed) => at_failure(evidence, &failed),
        None => at_peak(evidence),
    }
}

fn at_failure(evidence: &Evidence<'_>, failed: &Failure) -> Option<Finding> {
    let ceiling = evidence.recording.ceiling()?;
    let (active, cached) = (evidence.moment.counters.active, evidence.moment.counters.cached());
    let (size, stranded) = (failed.size, &failed.stranded);
    let needed = active + size;
    if needed > ceiling {
        return None;
    }
    let unheld = ceiling.saturating_sub(evidence.moment.counters.reserved);
    let free = cached + unheld;
    let limit = evidence.recording.ceiling_text();
    let too_small = format!("in blocks smaller than the request (largest {})", stranded.largest);
    let reasons = [
        (stranded.too_small, too_small.as_str()),
        (stranded.other_pool, "in another pool"),
        (stranded.other_stream, "for another stream"),
        (stranded.refused, "in blocks that a setting keeps from being used"),
    ];
    let mut lines = vec![
        format!("in use {active} + request {size} = {needed}, limit {limit}"),
        format!("cached {cached}, not held {unheld}: {free} free in all"),
    ];
    let reasons = reasons.into_iter().filter(|(bytes, _)| *bytes > Bytes::ZERO);
    lines.extend(reasons.map(|(bytes, reason)| format!("{bytes} cached {reason}")));
    Some(Finding {
        rule: "OOM002",
        cause: (!super::growth::is_cause(evidence)).then_some(Cause::Fragmentation),
        claim: format!("{free} was free, but in pieces: none could serve {size}"),
        evidence: lines,
    })
}

fn at_peak(evidence: &Evidence<'_>) -> Option<Finding> {
    let peaks = &evidence.recording.peaks;
    let (active, reserved) = (peaks.active.bytes, peaks.reserved.bytes);
    let beyond = reserved.saturating_sub(active);
    if beyond.share_of(active) < NOTABLE {
        return None;
    }
    let at_once = evidence.recording.trace().events.is_empty();
    let held = if at_once { "is held than is" } else { "was held than was ever" };
    Some(Finding {
        rule: "OOM002",
        cause: None,
        claim: format!("{beyond} more {held} in use ({})", percent(beyond, active)),
        evidence: vec![format!("peak in use {active}, peak held {reserved}")],
    })
}
