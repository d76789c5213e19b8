//! Memory that outlives the iteration that made it, and grows with every one.

use std::collections::BTreeSet;

use oomph_trace::Bytes;
use oomph_trace::sidecar::Keeper;

use super::census::{Alive, Kept, keeper, lines, sum};
use super::words::named;
use super::{Basis, Case, Kind, Lives, Role, Verdict};
use crate::cause::Cause;
use crate::classes::Class;
use crate::phase::Phase;

/// From this share of all there is on, much lies in pieces.
const IN_PIECES: f64 = 0.08;
/// Growth over fewer steps may be a collection that is soon complete.
const YOUNG: usize = 24;
/// What is kept stems from at least so many iterations.
const FEWEST: usize = 3;

pub(super) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let growth = case.evidence.steps.growth.as_ref()?;
    let turns = case.evidence.steps.starts.len();
    // What was made before the last whole iteration, and not in the first, which makes what stays.
    let kept: Vec<&Alive> = case.alive.iter().filter(|alive| (2..turns).contains(&alive.turn)).collect();
    let bytes = sum(kept.iter().copied());
    let unfragmented = case.life_unfragmented(growth.per_step);
    if bytes < Bytes::mib(1) || case.is_far(growth.per_step) || bytes.share_of(case.limit) < 0.05 {
        return None;
    }
    // One or two iterations that keep something are no growth.
    let from = kept.iter().map(|alive| alive.turn).collect::<BTreeSet<_>>().len();
    if from < FEWEST {
        return None;
    }
    // What is kept is the smaller part, and what lies in pieces would have served for as long again, or the growth is too
    // young to tell whether it goes on: it is not what ends it now.
    let room = case.limit.saturating_sub(case.needed);
    let in_pieces =
        case.needed <= case.limit && room.share_of(case.limit) >= IN_PIECES && case.best_setting().is_some();
    let passed = case.steps_passed();
    let as_long = from < YOUNG || matches!(unfragmented, Lives::Steps(steps) if steps >= passed);
    if in_pieces && as_long && bytes.share_of(case.limit) < 0.5 {
        return None;
    }
    let without = case.needed.saturating_sub(bytes);
    let (kind, variable) = kind(case, &kept, bytes);
    let what = match kind {
        Kind::ModelsKept => "models and optimizers of past rounds",
        Kind::GraphsKept | Kind::EvaluationGraphs => "results of past steps with their graphs",
        _ => "results of past steps",
    };
    let by = variable.map_or_else(String::new, |variable| format!(" by {}", named(variable)));
    let claim = format!(
        "{bytes} of {} is {what}, kept{by}: {} more with every step, from {from} steps",
        case.limit, growth.per_step
    );
    let lives = case.lives_needing(without);
    let why = format!("without what past steps keep, {without} of {} would have been needed", case.limit);
    let verdict = Verdict::new(Cause::Leak, kind, claim)
        .blame(lines(kept.iter().copied(), Role::Made, 4))
        .blame(variable.and_then(|variable| super::words::line_of(variable, bytes)))
        .blame(case.asked())
        .cure(action(case, kind, variable), Basis::Computed, lives, why)
        .needs(without)
        .not_fragmentation(case, unfragmented)
        .not(
            Cause::Capacity,
            format!("without what is kept it needs {without}, and {} is there", case.limit),
        );
    Some(verdict.sealed())
}

/// What is kept, and the variable that keeps most of it.
fn kind<'a>(case: &'a Case<'_>, kept: &[&Alive], bytes: Bytes) -> (Kind, Option<&'a Keeper>) {
    let in_evaluation = case.oom.phase == Some(Phase::Evaluation);
    let half = Bytes(bytes.0 / 2);
    let of = |wanted: fn(&Alive) -> bool| sum(kept.iter().copied().filter(|alive| wanted(alive)));
    let models = of(|alive| {
        matches!(alive.class, Class::Weights | Class::Optimizer | Class::Gradients | Class::Buffers)
    });
    let by_graph = of(|alive| alive.kept == Kept::ByGraph);
    let by_cycle = of(|alive| alive.kept == Kept::ByNobody);
    let holder = keeper(kept.iter().copied());
    let variable = case.variable_of(kept);
    let by_variable = of(|alive| matches!(alive.kept, Kept::By(_)));
    let graphs = match holder {
        // Where variables keep much as well, cutting graphs would not let go of that.
        Some(_) => by_graph.0 * 3 >= bytes.0 && by_variable.0 * 5 < bytes.0,
        None => case.evidence.steps.leftovers.as_ref().is_some_and(|left| left.count * 3 >= left.made),
    };
    let is_cache = |variable: &Keeper| variable.class.contains("cache") || variable.class.ends_with("dict");
    let kind = if models >= half {
        Kind::ModelsKept
    } else if by_cycle >= half || graphs && case.has_graphs_in_cycles() {
        Kind::ReferenceCycle
    } else if in_evaluation && graphs {
        Kind::EvaluationGraphs
    } else if graphs {
        Kind::GraphsKept
    } else if variable.is_some_and(is_cache) {
        Kind::CacheUnbounded
    } else if in_evaluation {
        Kind::EvaluationOutputs
    } else if variable.is_some() {
        Kind::OutputsKept
    } else {
        Kind::Growth
    };
    let variable = match kind {
        // A graph is kept by its results, which may be small.
        Kind::GraphsKept | Kind::EvaluationGraphs => case.keeper_of_graphs().or(variable),
        _ => variable,
    };
    (kind, variable)
}

/// The change that lets go of it.
fn action(case: &Case<'_>, kind: Kind, variable: Option<&Keeper>) -> String {
    if variable.is_some_and(|variable| variable.place.contains("kept by a ")) {
        return "keep the text of an error, not the exception: its traceback keeps every tensor (`str(error)`, or `del` it)"
            .to_owned();
    }
    let by = variable.map(named);
    let of = |by: Option<String>, with: &str, without: &str| {
        by.map_or_else(|| without.to_owned(), |by| format!("{with} {by}"))
    };
    match kind {
        Kind::ModelsKept => {
            let change = "let go of past models and optimizers: `del` them, or keep only a state_dict on the CPU";
            of(by, &format!("{change}; they are kept by"), change)
        }
        Kind::GraphsKept if !has_backward(case) => {
            "call backward() for each part as it comes, or cut the graph (`.detach()`, `torch.no_grad()`) where no gradient is needed"
                .to_owned()
        }
        Kind::GraphsKept => {
            let change = "cut the graph before keeping a result: `.detach()`, or `.item()` for a number";
            of(by, &format!("{change}; see"), change)
        }
        Kind::EvaluationGraphs => {
            "evaluate under `torch.no_grad()`, so that no graph is kept; keep results on the CPU".to_owned()
        }
        Kind::EvaluationOutputs => of(
            by,
            "move each result to the CPU before it is kept (`.cpu()`), or clear",
            "move each result to the CPU before it is kept (`.cpu()`)",
        ),
        Kind::CacheUnbounded => {
            let change = "bound the cache (a maxsize), clear it, or keep it on the CPU";
            of(by, &format!("{change}:"), change)
        }
        Kind::ReferenceCycle => {
            "break the reference cycle, or call `gc.collect()`: the objects wait for the collector".to_owned()
        }
        _ => of(
            by,
            "let go of past results: keep only what is needed, move it to the CPU (`.cpu()`), or bound or clear",
            "let go of past results: find what keeps them; keep only what is needed, move it to the CPU (`.cpu()`), `del` or clear the rest",
        ),
    }
}

/// Whether a backward pass ran since the first of the iterations.
fn has_backward(case: &Case<'_>) -> bool {
    if case.evidence.steps.phases.stretches().is_empty() {
        return case.evidence.steps.leftovers.as_ref().is_none_or(|left| left.trained);
    }
    let first = case.evidence.steps.starts.first().copied().unwrap_or_default();
    let stretches = case.evidence.steps.phases.stretches().iter();
    stretches.filter(|stretch| stretch.from >= first).any(|stretch| stretch.phase == Phase::Backward)
}
