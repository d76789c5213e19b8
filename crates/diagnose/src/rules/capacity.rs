//! OOM001: what was in use and the request together exceed the limit; no allocator could have served it.

use oomph_engine::recording::LimitSource;

use super::{Cause, Evidence, Finding};

/// Where the bounds of an inferred limit lie further apart than this share, what is missing cannot be told.
const VAGUE: f64 = 0.05;

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let failed = evidence.moment.failed?;
    let ceiling = evidence.recording.ceiling()?;
    let active = evidence.moment.counters.active;
    let needed = active + failed.size;
    if needed <= ceiling || super::growth::is_cause(evidence) {
        return None;
    }
    let bounds = &evidence.recording.program.limit;
    // The driver's own account of a card that the recorder described leaves nothing to doubt.
    let certain = evidence.recording.setup.capacity.is_some()
        && evidence.recording.snapshot.sidecar.as_ref().is_some_and(|sidecar| !sidecar.devices.is_empty());
    let below =
        bounds.below.filter(|_| evidence.recording.limit_source == Some(LimitSource::Refusals) && !certain);
    let claim = match below.filter(|below| below.saturating_sub(bounds.at_least).share_of(*below) > VAGUE) {
        Some(below) => format!("{needed} was needed in all, and the limit is less than {below}"),
        None => format!("{} more was needed than there is", needed - ceiling),
    };
    Some(Finding {
        rule: "OOM001",
        cause: Some(Cause::Capacity),
        claim,
        evidence: vec![
            format!(
                "in use {active} + request {} = {needed}, limit {}",
                failed.size,
                evidence.recording.ceiling_text()
            ),
            format!("cached and unusable: {}", evidence.moment.counters.cached()),
        ],
    })
}
