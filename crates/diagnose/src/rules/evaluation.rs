//! OOM007: graphs pile up where nothing is trained: evaluation runs with gradients on.
//! Silent where a backward pass or an optimizer ran since, and where OOM006's conditions do not hold.

use super::graphs::{counted, piled_up};
use super::{Cause, Evidence, Finding};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let kept = piled_up(evidence).filter(|kept| !kept.trained)?;
    let mut lines = counted(kept);
    lines.push("no backward pass and no optimizer ran in these steps".to_owned());
    Some(Finding {
        rule: "OOM007",
        cause: super::growth::is_cause(evidence).then_some(Cause::Leak),
        claim: format!(
            "graphs are kept in evaluation, at {}: wrap it in torch.no_grad() or torch.inference_mode()",
            kept.under
        ),
        evidence: lines,
    })
}
