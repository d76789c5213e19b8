//! What training a model takes, whatever the batch: weights, gradients, the optimizer's state.

use oomph_trace::Bytes;

use super::parts::{arithmetic, of_class};
use crate::advice::Basis;
use crate::cause::Cause;
use crate::classes::Class;
use crate::judge::census::lines;
use crate::judge::{Case, Kind, Lives, Role, Verdict};
use crate::phase::Phase;

/// It failed in the optimizer, before its state was there.
pub(super) fn optimizer_state(case: &Case<'_>) -> Option<Verdict> {
    let in_update = case.oom.phase == Some(Phase::Optimizer);
    let keepers = case.keepers;
    let optimizer = keepers.and_then(|keepers| keepers.optimizers.iter().max_by_key(|one| one.whole));
    let whole = optimizer.map_or(Bytes::ZERO, |one| one.whole);
    let dominant = case.need.is_first
        && case.need.state.share_of(case.limit) >= 0.25
        && case.need.total.saturating_sub(case.need.state) <= case.limit;
    if !(in_update || dominant && case.oom.phase == Some(Phase::Backward)) {
        return None;
    }
    let name = optimizer.map_or("the optimizer", |one| one.name.as_str());
    let state = whole.max(of_class(case, Class::Optimizer));
    let temporaries = of_class(case, Class::OptimizerTemporaries);
    if in_update && !case.need.is_first && temporaries.0 + case.failed.size.0 > state.0 / 8 {
        let claim = format!(
            "{name} makes {} of temporaries in its update; {}",
            temporaries + case.failed.size,
            arithmetic(case)
        );
        return Some(
            Verdict::new(Cause::Capacity, Kind::OptimizerState, claim).blame(case.asked()).cure(
                format!("give the optimizer `foreach=False` (or `fused=True`), or use one with less state ({name} 8-bit, Adafactor, SGD)"),
                Basis::Practice,
                Lives::Unknown,
                "foreach updates copy whole lists of parameters at once",
            ),
        );
    }
    let without = case.need.total.saturating_sub(Bytes(state.0 / 4 * 3));
    let claim = format!(
        "the state of {name} does not fit: {state} beside weights and gradients; {}",
        arithmetic(case)
    );
    let why =
        format!("8-bit state needs a quarter: {without} of {}; the batch does not matter here", case.limit);
    let lives = case.lives_needing(without);
    Some(
        Verdict::new(Cause::Capacity, Kind::OptimizerState, claim)
            .blame(case.asked())
            .cure(
                "an optimizer with less state: 8-bit Adam, Adafactor or SGD; or shard or offload the optimizer's state",
                Basis::Computed,
                lives,
                why,
            )
            .needs(without),
    )
}

/// Where the first cure is not enough and an optimizer with less state would make it so, says so.
pub(super) fn with_less_state(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let needs = verdict.cures.first().and_then(|cure| cure.needs_bytes);
    let state: Bytes =
        case.keepers.map_or(Bytes::ZERO, |keepers| keepers.optimizers.iter().map(|one| one.whole).sum());
    let is_sole = verdict.cures.len() == 1 && verdict.kind != Kind::OptimizerState;
    match needs {
        Some(needs) if is_sole && needs > case.limit => {
            let both = needs.saturating_sub(Bytes(state.0 / 4 * 3));
            if both > case.limit {
                verdict
            } else {
                verdict.and_also("an optimizer with less state (8-bit Adam, Adafactor)", both)
            }
        }
        _ => verdict,
    }
}

/// The first backward pass: weights and gradients are most of what is needed.
pub(super) fn gradients(case: &Case<'_>) -> Option<Verdict> {
    let weights = of_class(case, Class::Weights);
    let fixed = weights
        + of_class(case, Class::Gradients)
        + of_class(case, Class::Optimizer)
        + case.need.gradients
        + case.need.state;
    if !case.need.is_first || fixed.share_of(case.limit) < 0.6 {
        return None;
    }
    let claim = format!("weights, gradients and optimizer state alone are {fixed}; {}", arithmetic(case));
    Some(
        Verdict::new(Cause::Capacity, Kind::Gradients, claim)
            .blame(case.asked())
            .blame(lines(case.alive.iter().filter(|alive| alive.class == Class::Weights), Role::Made, 1))
            .cure(
                "train fewer or smaller numbers: bfloat16 weights, LoRA, an optimizer with less state (8-bit Adam), or shard the model",
                Basis::Computed,
                Lives::Unknown,
                format!("{fixed} does not depend on the batch"),
            ),
    )
}

/// Before any step, most of what is there is weights.
pub(super) fn weights(case: &Case<'_>) -> Option<Verdict> {
    let weights = of_class(case, Class::Weights) + of_class(case, Class::Buffers);
    if weights.share_of(case.limit) < 0.6 {
        return None;
    }
    let claim = format!("the weights alone are {weights}; {}", arithmetic(case));
    Some(Verdict::new(Cause::Capacity, Kind::Weights, claim).blame(case.asked()).cure(
        "load the weights in half precision (bfloat16) or quantized, or spread or offload the model",
        Basis::Computed,
        if weights.0 / 2 < case.limit.0 { Lives::ForGood } else { Lives::Unknown },
        format!("in half precision the weights are {}", Bytes(weights.0 / 2)),
    ))
}
