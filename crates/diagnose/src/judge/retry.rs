//! The program caught the error and tried again, while the error still kept what the first try had made.

use super::census::{Alive, lines, sum};
use super::{Basis, Case, Kind, Lives, Role, Verdict};
use crate::cause::Cause;
use crate::oom::Oom;
use oomph_trace::Bytes;

/// What has to be left of the first try.
const NOTABLE: f64 = 0.1;

pub(super) fn judge(case: &Case<'_>, ooms: &[Oom]) -> Option<Verdict> {
    // The next failure with no update in between.
    let second = ooms.get(1)?;
    if second.step != case.oom.step {
        return None;
    }
    let began = case.step_began();
    let is_left = |alive: &&Alive| {
        alive.born.is_some_and(|born| born >= began) && alive.died.is_none_or(|died| died > second.event)
    };
    let left: Vec<&Alive> = case.alive.iter().filter(is_left).collect();
    let kept = sum(left.iter().copied());
    if kept.share_of(case.limit) < NOTABLE || kept < Bytes::mib(16) {
        return None;
    }
    let claim = format!(
        "the first try needed {} of {} and failed; the second failed because the error still kept {kept} of the first",
        case.needed, case.limit
    );
    let why = format!(
        "the exception's traceback keeps every tensor of the failed try: {kept} goes once `except` is left"
    );
    Some(
        Verdict::new(Cause::Capacity, Kind::RetryInsideExcept, claim)
            .blame(second.place.as_ref().map(|place| super::Culprit {
                line: place.line.clone(),
                bytes: second.size,
                role: Role::Asked,
                code: None,
            }))
            .blame(case.asked())
            .blame(lines(left.iter().copied(), Role::Made, 3))
            .cure(
                "retry outside the `except` block: leave it first (set a flag), so that the traceback lets go of the failed try",
                Basis::Computed,
                Lives::ForGood,
                why,
            )
            .sealed(),
    )
}
