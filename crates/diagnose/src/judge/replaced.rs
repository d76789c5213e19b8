//! A tensor that each iteration replaces by a longer one: a queue that is never cut.

use std::collections::BTreeSet;

use oomph_trace::Bytes;
use rustc_hash::FxHashMap;

use super::census::{Alive, lines, sum};
use super::words::{line_of, named};
use super::{Basis, Case, Kind, Role, Verdict};
use crate::cause::Cause;

/// Less than this share of all there is does not end a job.
const NOTABLE: f64 = 0.1;
/// In iterations of the same batch, at least this share of the requests have the same sizes.
const SAME: f64 = 0.3;

pub(super) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let growth = case.evidence.steps.replaced.as_ref()?;
    let turn = case.evidence.steps.under_way(case.oom.event)?;
    let makers: BTreeSet<_> = growth.lines.iter().filter_map(|line| line.place.as_ref()).collect();
    // Of the iteration under way there is the longer one, of the one before it the one to be replaced.
    let is_it = |alive: &&Alive| {
        alive.turn + 1 >= turn && alive.place.as_ref().is_some_and(|place| makers.contains(place))
    };
    let grown: Vec<&Alive> = case.alive.iter().filter(is_it).collect();
    let bytes = sum(grown.iter().copied());
    if bytes.share_of(case.limit) < NOTABLE || case.is_far(growth.per_step) || !is_same_batch(case, turn) {
        return None;
    }
    let variable = case.variable_of(&grown);
    let by = variable.map_or_else(String::new, |variable| format!(" ({})", named(variable)));
    let without = case.needed.saturating_sub(bytes);
    let why = format!("without it {without} of {} would have been needed", case.limit);
    let at = variable.map_or_else(String::new, |variable| format!(": {}", named(variable)));
    let claim = format!(
        "a tensor that each step replaces by a longer one{by} grows by {} with every step: {bytes} of {} by now, old and new together",
        growth.per_step, case.limit
    );
    let verdict = Verdict::new(Cause::Leak, Kind::GrowingTensor, claim)
        .cure(
            format!("bound its length: keep only the newest part and drop the oldest (a slice), or keep it on the CPU{at}"),
            Basis::Computed,
            case.lives_needing(without),
            why,
        )
        .needs(without)
        .blame(lines(grown.iter().copied(), Role::Made, 4))
        .blame(variable.and_then(|variable| line_of(variable, bytes)))
        .blame(case.asked())
        .not_fragmentation(case, case.life_unfragmented(growth.per_step));
    Some(verdict.sealed())
}

/// Whether the last whole iteration asks for what an earlier one did, but for what grows: otherwise it is the batch
/// that grows, and all with it.
fn is_same_batch(case: &Case<'_>, turn: usize) -> bool {
    let starts = &case.evidence.steps.starts;
    let (last, early) = (turn.saturating_sub(1), turn / 2);
    if early < 1 || early >= last {
        return false;
    }
    let sizes = |turn: usize| {
        let during = starts[turn - 1]..starts[turn];
        let births = case.evidence.recording.program.births();
        births.filter(move |(born, ..)| during.contains(born)).map(|(_, _, allocation)| allocation.size)
    };
    let mut counts: FxHashMap<Bytes, usize> = FxHashMap::default();
    for size in sizes(early) {
        *counts.entry(size).or_default() += 1;
    }
    let (mut all, mut same) = (0usize, 0usize);
    for size in sizes(last) {
        all += 1;
        if let Some(left) = counts.get_mut(&size).filter(|left| **left > 0) {
            *left -= 1;
            same += 1;
        }
    }
    same as f64 >= SAME * all as f64
}
