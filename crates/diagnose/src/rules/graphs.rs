//! OOM006: results of the forward pass outlive their step, and with them the graph they belong to.
//! Silent where OOM007 can say more, and unless memory grows and stacks show several operators' results per step.

use oomph_trace::Bytes;

use super::{Cause, Evidence, Finding};
use crate::steps::Leftovers;

/// Fewer results a step may be outputs that the program gathers.
const FEWEST: usize = 4;
/// Where less than one in so many results is kept, it may be a cache: a graph keeps most of what its pass makes.
const ONE_IN: usize = 4;
/// How many lines are named.
const NAMED: usize = 3;

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let kept = piled_up(evidence).filter(|kept| kept.trained)?;
    let mut lines = counted(kept);
    lines.push("a backward pass or an optimizer ran since, and they were not let go".to_owned());
    Some(Finding {
        rule: "OOM006",
        cause: super::growth::is_cause(evidence).then_some(Cause::Leak),
        claim: format!("graphs of past steps are kept alive; they are made at {}", kept.under),
        evidence: lines,
    })
}

/// What forward passes pile up, if it is graphs.
pub(super) fn piled_up<'a>(evidence: &Evidence<'a>) -> Option<&'a Leftovers> {
    let kept = evidence.steps.leftovers.as_ref()?;
    let enough = kept.count >= FEWEST * kept.steps && kept.count.saturating_mul(ONE_IN) >= kept.made;
    (enough && kept.bytes >= Bytes::mib(1)).then_some(kept)
}

/// What is kept, counted, and where it was made if that is more than one line.
pub(super) fn counted(kept: &Leftovers) -> Vec<String> {
    let mut lines = vec![format!(
        "{} of {} results of forward passes in {} steps are alive two or more steps later: {}",
        kept.count, kept.made, kept.steps, kept.bytes
    )];
    if kept.lines.len() > 1 {
        let named = kept.lines.iter().take(NAMED);
        lines.extend(named.map(|(place, bytes)| format!("{bytes} of them from {}", place.line)));
    }
    lines
}
