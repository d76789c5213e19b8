//! The change that is tried for each rule.

use ruff_text_size::Ranged;

use super::edits::{Edit, before};
use super::spot::{NO_CHANGE, Spot};
use super::{calls, kept};
use crate::patterns::callee;
use crate::rule::Rule;

const HOST: &str = "it is about the host's memory, and only the GPU's is measured";
const OTHER_WAY: &str = "the fix is another way to compute it, which is yours to write";

/// The edits for a rule without a fix of its own, or why there are none.
pub(super) fn edits(rule: Rule, spot: &Spot<'_>) -> Result<Vec<Edit>, &'static str> {
    match rule {
        Rule::GraphKept => kept::through(spot, "detached"),
        Rule::Evaluation => calls::under_no_grad(spot),
        Rule::SecondModel => calls::asked_without_graph(spot),
        Rule::OutputsOnGpu if is_joined(spot) => Err("how much of it to keep is yours to say"),
        Rule::OutputsOnGpu | Rule::ModelsKept => kept::through(spot, "on_host"),
        Rule::Hooks if calls::at(spot).is_ok_and(|call| callee(call).starts_with("register_")) => {
            calls::newest_hook(spot)
        }
        Rule::Hooks => kept::through(spot, "on_host"),
        Rule::Load => calls::keyword(spot, "map_location", "\"cpu\""),
        Rule::Retry => behind_the_handler(spot),
        Rule::RetainGraph => calls::keyword(spot, "retain_graph", "False"),
        Rule::LogitsInFloat => calls::left_out(spot),
        Rule::RecurrentState => calls::state_detached(spot),
        Rule::DataOnGpu => calls::not_moved(spot),
        Rule::Cache => calls::small_cache(spot),
        Rule::ErrorsKept => kept::as_text(spot),
        Rule::Copies => calls::one_copy(spot),
        Rule::Cycle => calls::forever(spot),
        Rule::OneHot => calls::looked_up(spot),
        Rule::Double => calls::in_float32(spot),
        Rule::CollectorOff => calls::collector_on(spot),
        Rule::Metric => calls::keyword(spot, "thresholds", "200"),
        Rule::LossesFirst => kept::through(spot, "gone_through"),
        Rule::ZeroedGradients => calls::keyword(spot, "set_to_none", "True"),
        Rule::EmptyCache => Err("it costs time, and no memory"),
        Rule::ListsInWorkers | Rule::Pinned => Err(HOST),
        Rule::KerasModels => Err("Keras is not measured here: `oomph run` shows what it keeps"),
        Rule::NotScaled => Err("it is about the result, and not about memory"),
        Rule::Pairs | Rule::Attention => Err(OTHER_WAY),
    }
}

/// Whether what is kept is one tensor that gets longer.
fn is_joined(spot: &Spot<'_>) -> bool {
    let joins = |name: &str| matches!(name, "cat" | "concat" | "concatenate" | "hstack" | "vstack");
    kept::value(spot).and_then(|value| value.as_call_expr()).is_some_and(|call| joins(callee(call)))
}

/// What the handler does, done after it: the failed call's frames are gone by then.
fn behind_the_handler(spot: &Spot<'_>) -> Result<Vec<Edit>, &'static str> {
    let (found, handler) = spot.handlers.last().ok_or(NO_CHANGE)?;
    let is_last = found.handlers.last().is_some_and(|each| each.range() == handler.range());
    let first = handler.body.first().ok_or(NO_CHANGE)?;
    let (outer, inner) = spot.indent(found.range()).zip(spot.indent(first.range())).ok_or(NO_CHANGE)?;
    if !is_last || !found.orelse.is_empty() || !found.finalbody.is_empty() {
        return Err(NO_CHANGE);
    }
    Ok(vec![
        before(found.start(), format!("failed = False\n{outer}")),
        before(first.start(), format!("failed = True\n{outer}if failed:\n{inner}")),
    ])
}
