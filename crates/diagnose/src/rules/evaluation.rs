//! OOM007: graphs pile up where nothing is trained: evaluation runs with gradients on.
//! Silent where a backward pass or an optimizer ran since, and where OOM006's conditions do not hold.

use super::graphs::{counted, located, piled_up};
use super::{Cause, Evidence, Finding, RuleInfo};

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM007",
    name: "evaluation with gradients on",
    summary: "Evaluation keeps its graphs: gradients are on, and no one needs them.",
    file: "evaluation.rs",
    page: "\
**Claims** that forward passes pile up graphs, as OOM006 does, and that no
backward pass and no optimizer ran from the first of those steps on: it is
evaluation or inference, with gradients on. If OOM003 is the cause, so is
this.

**Why.** `model.eval()` does not switch gradients off. Each output that is
kept keeps the activations of its whole forward pass.

**What to do.** Wrap the loop in `with torch.no_grad():` or
`torch.inference_mode()`, and move what is gathered to the CPU.

**Silent** where OOM006's conditions do not hold, or where a request since the
first of those steps came from a backward pass, an optimizer, or a thread
without Python frames, as autograd's are. A hook that collects the results of
every layer looks the same.

```text
graphs are kept in evaluation, at train.py:182 case_eval_grad: wrap it in
torch.no_grad() or torch.inference_mode() [OOM007]
  638 of 782 results of forward passes in 3 steps are alive two or more steps
  later: 7.66 GiB
  no backward pass and no optimizer ran in these steps
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let kept = piled_up(evidence).filter(|kept| !kept.trained)?;
    let mut lines = counted(kept);
    lines.push("no backward pass and no optimizer ran in these steps".to_owned());
    Some(Finding {
        rule: INFO.id,
        cause: super::growth::is_cause(evidence).then_some(Cause::Leak),
        claim: format!(
            "graphs are kept in evaluation, at {}: wrap it in torch.no_grad() or torch.inference_mode()",
            located(&kept.under)
        ),
        evidence: lines,
    })
}
