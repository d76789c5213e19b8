//! What the kinds of capacity share: the arithmetic, and what the step under way made.

use oomph_trace::Bytes;

use crate::classes::Class;
use crate::judge::census::{Alive, lines, sum};
use crate::judge::{Case, Culprit, Role};

/// What was needed against what there is, with what was still to come.
pub(super) fn arithmetic(case: &Case<'_>) -> String {
    let to_come = case.need.total.saturating_sub(case.needed);
    let later =
        if to_come > Bytes::mib(1) { format!(", and {to_come} was still to come") } else { String::new() };
    format!(
        "{} was in use and {} asked for{later}; {} is there",
        case.evidence.moment.counters.active, case.failed.size, case.limit
    )
}

/// What is alive of one class.
pub(super) fn of_class(case: &Case<'_>, class: Class) -> Bytes {
    sum(case.alive.iter().filter(|alive| alive.class == class))
}

/// What an iteration made and is alive, without what is the model's.
pub(super) fn made_in<'a>(case: &'a Case<'_>, turn: usize) -> impl Iterator<Item = &'a Alive> {
    let is_models = |class| {
        matches!(
            class,
            Class::Weights | Class::Gradients | Class::Optimizer | Class::Buffers | Class::Workspaces
        )
    };
    case.alive.iter().filter(move |alive| alive.turn == turn && !is_models(alive.class))
}

/// The same of the step under way.
pub(super) fn of_step<'a>(case: &'a Case<'_>) -> Vec<&'a Alive> {
    made_in(case, case.evidence.steps.under_way(case.oom.event).unwrap_or(0)).collect()
}

/// The lines that made the most of it.
pub(super) fn largest_of_step(case: &Case<'_>, most: usize) -> Vec<Culprit> {
    lines(of_step(case), Role::Made, most)
}
