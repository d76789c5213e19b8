//! It failed while the model was set to evaluation, and nothing grew: graphs that nobody needs, or a batch that is too
//! large.

use super::census::{Alive, Kept, lines, sum};
use super::{Basis, Case, Kind, Lives, Role, Verdict};
use crate::cause::Cause;
use crate::phase::Phase;
use oomph_trace::Bytes;

/// What evaluation made and is alive, and how much that is; `None` in another phase.
fn made<'a>(case: &'a Case<'_>) -> Option<(Vec<&'a Alive>, Bytes)> {
    if case.oom.phase != Some(Phase::Evaluation) {
        return None;
    }
    let began = case.evidence.steps.phases.at(case.oom.event)?.from;
    let made: Vec<&Alive> =
        case.alive.iter().filter(|alive| alive.born.is_some_and(|born| born >= began)).collect();
    let bytes = sum(made.iter().copied());
    Some((made, bytes))
}

/// Graphs for a backward pass that never comes.
pub(super) fn graphs(case: &Case<'_>) -> Option<Verdict> {
    let (made, bytes) = made(case)?;
    let by_graph =
        sum(made.iter().copied().filter(|alive| matches!(alive.kept, Kept::ByGraph | Kept::ByNobody)));
    let grad = case.seen.is_some_and(|seen| seen.grad);
    if grad && by_graph.0 * 3 >= bytes.0 && by_graph.share_of(case.limit) > 0.1 {
        let without = case.needed.saturating_sub(by_graph);
        let claim = format!(
            "evaluation records graphs for a backward pass that never comes: they keep {by_graph} of {}",
            case.limit
        );
        let why = format!("without them {without} of {} would have been needed", case.limit);
        let lives = case.lives_needing(without);
        let verdict = Verdict::new(Cause::Capacity, Kind::EvaluationGraphs, claim)
            .blame(lines(made.iter().copied(), Role::Made, 3))
            .blame(case.asked())
            .cure("evaluate under `torch.no_grad()`, so that no graph is kept", Basis::Computed, lives, why)
            .needs(without);
        return Some(verdict.sealed());
    }
    None
}

/// What evaluation makes does not fit.
pub(super) fn size(case: &Case<'_>) -> Option<Verdict> {
    let (made, bytes) = made(case)?;
    if bytes.share_of(case.limit) < 0.2 {
        return None;
    }
    let claim =
        format!("evaluation made {bytes} and asked for {}; {} is there", case.failed.size, case.limit);
    let stays = case.evidence.moment.counters.active.saturating_sub(bytes);
    let why = format!(
        "{stays} was there before; what evaluation makes grows with its batch, and results that are kept with every batch"
    );
    let verdict = Verdict::new(Cause::Capacity, Kind::EvaluationSize, claim)
        .blame(lines(made.iter().copied(), Role::Made, 3))
        .blame(case.asked())
        .cure(
            "a smaller evaluation batch, and each result moved to the CPU (`.cpu()`) before it is kept",
            Basis::Computed,
            Lives::ForGood,
            why,
        );
    Some(verdict.sealed())
}
