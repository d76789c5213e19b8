//! Weights or gradients that are there twice, or longer than they are needed.

use std::collections::BTreeMap;

use oomph_trace::Bytes;

use super::parts::{arithmetic, made_in, of_class};
use crate::advice::Basis;
use crate::cause::Cause;
use crate::classes::Class;
use crate::judge::census::{Alive, Kept, keeper, lines, sum};
use crate::judge::words::named;
use crate::judge::{Case, Kind, Lives, Role, Verdict};

/// Memory with the sizes of the weights that is neither weights of the model that trains nor made for it.
pub(super) fn second_copy(case: &Case<'_>) -> Option<Verdict> {
    let weights = of_class(case, Class::Weights);
    let mut sizes: BTreeMap<Bytes, usize> = BTreeMap::new();
    for alive in
        case.alive.iter().filter(|alive| alive.class == Class::Weights && alive.bytes >= Bytes::mib(1))
    {
        *sizes.entry(alive.bytes).or_default() += 1;
    }
    let other = |alive: &&Alive| matches!(alive.class, Class::Other | Class::Activations | Class::Buffers);
    let mut copies: Vec<&Alive> = Vec::new();
    for alive in case.alive.iter().filter(other) {
        if let Some(left) = sizes.get_mut(&alive.bytes).filter(|left| **left > 0) {
            *left -= 1;
            copies.push(alive);
        }
    }
    let bytes = sum(copies.iter().copied());
    if bytes.0 * 10 < weights.0 * 6 || bytes.share_of(case.limit) < 0.08 {
        return None;
    }
    let kept = keeper(copies.iter().copied()).and_then(|(kept, _)| case.variable(kept));
    let by = kept.map_or_else(String::new, |kept| format!(", kept by {}", named(kept)));
    let without = case.need.total.saturating_sub(bytes);
    let claim = format!(
        "the weights are on the GPU a second time: {bytes} of {}{by}; {}",
        case.limit,
        arithmetic(case)
    );
    let lives = case.lives_needing(without);
    let what = kept.map_or_else(|| "the copy".to_owned(), |kept| format!("the copy {}", named(kept)));
    Some(
        Verdict::new(Cause::Capacity, Kind::SecondCopy, claim)
            .blame(lines(copies.iter().copied(), Role::Made, 3))
            .blame(case.asked())
            .cure(
                format!(
                    "keep {what} on the CPU (`map_location=\"cpu\"`, `.cpu()`), or `del` it before training"
                ),
                Basis::Computed,
                lives,
                format!("without it {without} of {} would be needed", case.limit),
            )
            .needs(without),
    )
}

/// Gradients of past steps are there while the next step is made.
pub(super) fn old_gradients(case: &Case<'_>) -> Option<Verdict> {
    let turn = case.evidence.steps.under_way(case.oom.event)?;
    let is_old = |alive: &&Alive| alive.class == Class::Gradients && alive.turn < turn;
    let old: Vec<&Alive> = case.alive.iter().filter(is_old).collect();
    let bytes = sum(old.iter().copied());
    let without = case.need.total.saturating_sub(bytes);
    if bytes.share_of(case.limit) < 0.12 || without > case.limit {
        return None;
    }
    let claim = format!(
        "{bytes} of {} is gradients of past steps, kept while the next step is made; {}",
        case.limit,
        arithmetic(case)
    );
    Some(
        Verdict::new(Cause::Capacity, Kind::Gradients, claim)
            .blame(case.asked())
            .blame(lines(old, Role::Made, 2))
            .cure(
                "let go of gradients before the next forward pass: `optimizer.zero_grad(set_to_none=True)`",
                Basis::Computed,
                Lives::ForGood,
                format!("without them {without} of {} would be needed", case.limit),
            )
            .needs(without),
    )
}

/// A model that is not trained lies beside the one that is.
pub(super) fn second_model(case: &Case<'_>) -> Option<Verdict> {
    let keepers = case.keepers.filter(|keepers| !keepers.optimizers.is_empty())?;
    let weights: Vec<&Alive> = case.alive.iter().filter(|alive| alive.class == Class::Weights).collect();
    let frozen = sum(weights.iter().copied()).saturating_sub(keepers.trained?);
    if frozen.share_of(case.limit) < 0.12 || frozen.0 * 2 < keepers.trained?.0 {
        return None;
    }
    let mut sums: BTreeMap<Kept, Bytes> = BTreeMap::new();
    for alive in &weights {
        *sums.entry(alive.kept).or_default() += alive.bytes;
    }
    // The variable whose weights come nearest to what is not trained.
    let nearest = sums.into_iter().filter(|(kept, _)| matches!(kept, Kept::By(_)));
    let (kept, _) = nearest.min_by_key(|(_, bytes)| bytes.0.abs_diff(frozen.0))?;
    let model = named(case.variable(kept)?);
    let of_it: Vec<&Alive> = weights.iter().copied().filter(|alive| alive.kept == kept).collect();
    let without = case.need.total.saturating_sub(frozen);
    let claim = format!(
        "{frozen} of {} is weights that are not trained, a second model beside the one that is ({model}); {}",
        case.limit,
        arithmetic(case)
    );
    let lives = case.lives_needing(without);
    Some(
        Verdict::new(Cause::Capacity, Kind::SecondCopy, claim)
            .blame(lines(of_it, Role::Made, 2))
            .blame(case.asked())
            .cure(
                format!("keep the second model {model} on the CPU or in half precision (bfloat16), or compute its results once, before training; no copy of it is needed beside the one that trains"),
                Basis::Computed,
                lives,
                format!("without it {without} of {} would be needed", case.limit),
            )
            .needs(without),
    )
}

/// What the step before made for its backward pass is alive while the next forward pass is made.
pub(super) fn previous_graph(case: &Case<'_>) -> Option<Verdict> {
    let before = case.evidence.steps.under_way(case.oom.event)?.checked_sub(1).filter(|turn| *turn > 0)?;
    let old: Vec<&Alive> = made_in(case, before).filter(|alive| alive.kept == Kept::ByGraph).collect();
    let bytes = sum(old.iter().copied());
    let without = case.needed.saturating_sub(bytes);
    if !case.evidence.steps.phases.trains() || bytes.share_of(case.limit) < 0.2 || without > case.limit {
        return None;
    }
    let kept =
        case.keeper_of_graphs().map_or_else(String::new, |keeper| format!(", kept by {}", named(keeper)));
    let claim = format!(
        "the graph of the step before is still alive: {bytes} of {}{kept}; {}",
        case.limit,
        arithmetic(case)
    );
    Some(
        Verdict::new(Cause::Capacity, Kind::PreviousGraph, claim)
            .blame(lines(old, Role::Made, 3))
            .blame(case.asked())
            .cure(
                "let go of the last step's results before the next forward pass: `del` them, and call backward() once, on the sum of the losses, without retain_graph=True",
                Basis::Computed,
                Lives::ForGood,
                format!("without it {without} of {} would have been needed", case.limit),
            )
            .needs(without),
    )
}
