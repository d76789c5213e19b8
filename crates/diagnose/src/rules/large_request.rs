//! OOM008: one request dwarfs everything else.
//! Silent without a failure or a known limit, and where other allocations are of the same order.

use oomph_engine::recording::LimitSource;

use super::{Evidence, Finding};

/// The share of the limit from which a request is large by itself.
const HALF: f64 = 0.5;
/// The share of the limit from which a request is large if it is also many times the next largest.
const NOTABLE: f64 = 0.1;
/// How many times.
const MANY: u64 = 4;

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let size = evidence.moment.failed?.size;
    let recording = evidence.recording;
    let largest = evidence.moment.largest;
    // An inferred limit may lie anywhere below what was refused.
    let refused =
        recording.program.limit.below.filter(|_| recording.limit_source == Some(LimitSource::Refusals));
    let share = size.share_of(recording.setup.capacity.or(refused).or(recording.ceiling())?);
    let dwarfs = share >= NOTABLE && size.0 / MANY >= largest.0;
    if size <= largest || !(share >= HALF || dwarfs) {
        return None;
    }
    Some(Finding {
        rule: "OOM008",
        cause: None,
        claim: format!("one request is larger than everything else: {size}"),
        evidence: vec![
            format!("limit {}, largest allocation in use {largest}", recording.ceiling_text()),
            format!("in float32 that is {} elements", size.0 / 4),
        ],
    })
}
