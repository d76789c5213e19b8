//! OOM003: memory in use grows with every iteration.
//!
//! It is the cause of a failure if it leaves no room for two more iterations even to a perfect allocator; otherwise
//! there was room, and why it could not be used is another rule's business.

use super::{Cause, Evidence, Finding};
use crate::steps::GrowingLine;

/// How many lines are named.
const NAMED: usize = 3;

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let growth = evidence.steps.growth.as_ref()?;
    let mut lines = vec![format!(
        "{} at the start of step {}, {} at the start of step {}",
        evidence.steps.baseline[evidence.steps.baseline.len() - 1 - growth.steps],
        evidence.steps.number(evidence.steps.baseline.len() - growth.steps),
        evidence.steps.baseline.last().copied().unwrap_or_default(),
        evidence.steps.number(evidence.steps.baseline.len()),
    )];
    for GrowingLine { bytes_per_step: bytes, place } in growth.lines.iter().take(NAMED) {
        let line = place.as_ref().map(|place| place.line.to_string());
        let line = line.unwrap_or_else(|| "no stack recorded".to_owned());
        lines.push(format!("{bytes} a step from {line}"));
    }
    let left =
        evidence.recording.ceiling().map(|ceiling| ceiling.saturating_sub(evidence.moment.counters.active));
    if evidence.moment.failed.is_none()
        && let Some(steps) = left.and_then(|left| left.0.checked_div(growth.per_step.0))
    {
        lines.push(format!("the limit is {steps} steps away"));
    }
    Some(Finding {
        rule: "OOM003",
        cause: is_cause(evidence).then_some(Cause::Leak),
        claim: format!("memory in use grows by {} with every step", growth.per_step),
        evidence: lines,
    })
}

/// Whether growth alone would have ended the job within two iterations.
pub(super) fn is_cause(evidence: &Evidence<'_>) -> bool {
    let (Some(growth), Some(failed)) = (&evidence.steps.growth, evidence.moment.failed) else { return false };
    let needed = evidence.moment.counters.active + failed.size;
    let in_two_steps = needed + growth.per_step + growth.per_step;
    evidence.recording.ceiling().is_some_and(|ceiling| in_two_steps > ceiling)
}
