//! More was needed than there is: what of it is the most unusual, and the cure that a specialist would name for that.

mod parts;

mod copies;
mod data;
mod spikes;
mod training;

use oomph_trace::Bytes;

use super::census::{Alive, Kept, lines, sum};
use super::{Basis, Case, Kind, Lives, Role, Verdict};
use crate::cause::Cause;
use crate::phase::Phase;
use parts::{arithmetic, of_step};

pub(super) fn judge(case: &Case<'_>) -> Verdict {
    let verdict = copies::second_copy(case)
        .or_else(|| training::optimizer_state(case))
        .or_else(|| copies::old_gradients(case))
        .or_else(|| copies::second_model(case))
        .or_else(|| copies::previous_graph(case))
        .or_else(|| data::data(case))
        .or_else(|| spikes::spike(case).filter(|_| case.failed.size.share_of(case.limit) > 0.5))
        .or_else(|| spikes::without_training(case))
        .or_else(|| spikes::outlier(case))
        .or_else(|| spikes::spike(case))
        .or_else(|| training::gradients(case))
        .or_else(|| training::weights(case))
        .unwrap_or_else(|| step(case));
    let verdict = training::with_less_state(case, verdict);
    let verdict = if case.needed <= case.limit {
        verdict.not(
            Cause::Fragmentation,
            format!("the step needs {} in all, whatever lies in pieces", case.need.total),
        )
    } else {
        verdict.not_fragmentation(case, Lives::Steps(0))
    };
    verdict.sealed()
}

/// The step itself is too large.
fn step(case: &Case<'_>) -> Verdict {
    let made: Vec<&Alive> = of_step(case);
    let grows = sum(made.iter().copied()) + case.failed.size;
    let stays = case.evidence.moment.counters.active.saturating_sub(sum(made.iter().copied()));
    let later = case.need.total.saturating_sub(case.needed);
    let mut parts = 2;
    while parts < 1024 && stays + later + Bytes(grows.0 / parts) > case.limit {
        parts *= 2;
    }
    let needs = stays + later + Bytes(grows.0 / parts);
    let fits = needs <= case.limit;
    let by_graph = sum(made.iter().copied().filter(|alive| alive.kept == Kept::ByGraph));
    let share = if parts == 2 { "half".to_owned() } else { format!("a {parts}th of") };
    let claim =
        format!("the step is too large: it made {} itself; {}", sum(made.iter().copied()), arithmetic(case));
    // Of a forward pass that was not finished, and that no step before it shows, nobody knows the rest.
    let is_cut = !case.need.is_foreseen && matches!(case.oom.phase, None | Some(Phase::Forward));
    let more =
        if is_cut { "; the pass was not finished, `oomph plan` finds the batch that fits" } else { "" };
    let verdict = Verdict::new(Cause::Capacity, Kind::StepTooLarge, claim)
        .blame(case.asked())
        .blame(lines(made.iter().copied(), Role::Made, 3))
        .cure(
            format!("{share} the micro-batch and {parts} times the accumulation, the same effective batch"),
            Basis::Computed,
            if fits && !is_cut { Lives::ForGood } else { Lives::Unknown },
            format!("{grows} grows with the batch, {} does not{more}", stays + later),
        )
        .needs(needs);
    verdict.cure(
        "gradient checkpointing, or mixed precision",
        Basis::Practice,
        Lives::Unknown,
        format!("both shrink what a forward keeps for the backward, {by_graph} here"),
    )
}
