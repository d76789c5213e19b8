//! OOM006: results of the forward pass outlive their step, and with them the graph they belong to.
//! Silent where OOM007 can say more, and unless memory grows and stacks show several operators' results per step.

use oomph_trace::Bytes;

use super::{Cause, Evidence, Finding, RuleInfo};
use crate::place::Line;
use crate::steps::Kept;

/// Fewer results a step may be outputs that the program gathers.
const FEWEST: usize = 4;
/// Where less than one in so many results is kept, it may be a cache: a graph keeps most of what its pass makes.
const ONE_IN: usize = 4;
/// How many lines are named.
const NAMED: usize = 3;

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM006",
    name: "graphs kept alive",
    summary: "Activations outlive the step that made them: a graph is kept.",
    file: "graphs.rs",
    page: "\
**Claims** that results of forward passes are alive two and more steps after
their own, although backward passes ran: their number and bytes, the line they
were all made under, and the lines that made them. Four or more per step from
inside modules are not outputs but what a graph keeps for its backward pass.
If OOM003 is the cause, so is this: it says what grows.

**Why.** One reference to a tensor with a `grad_fn` keeps its whole graph, and
the graph keeps the activations. `losses.append(loss)` and `total += loss` are
the usual ones.

**What to do.** Keep `loss.item()` or `loss.detach()`. Do not keep outputs,
or detach them. Do not pass `retain_graph=True` without need.

**Silent** unless OOM003 speaks; without stacks; where less than four results
a step are kept, or less than one in four, as by a cache of keys and values,
or less than 1 MiB; under a decorator such as `@torch.no_grad()`; for what is
made once, as weights and optimizer state are; and where nothing was trained,
which is OOM007's. A hook that collects the results of every layer looks the
same.

```text
graphs of past steps are kept alive; they are made at train.py:115 case_leak
[OOM006]
  176 of 352 results of forward passes in 22 steps are alive two or more steps
  later: 2.75 GiB
  a backward pass or an optimizer ran since, and they were not let go
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let kept = piled_up(evidence).filter(|kept| kept.trained)?;
    let mut lines = counted(kept);
    lines.push("a backward pass or an optimizer ran since, and they were not let go".to_owned());
    Some(Finding {
        rule: INFO.id,
        cause: super::growth::is_cause(evidence).then_some(Cause::Leak),
        claim: format!("graphs of past steps are kept alive; they are made at {}", located(&kept.under)),
        evidence: lines,
    })
}

/// What forward passes pile up, if it is graphs.
pub(super) fn piled_up<'a>(evidence: &Evidence<'a>) -> Option<&'a Kept> {
    let kept = evidence.steps.kept.as_ref()?;
    let enough = kept.count >= FEWEST * kept.steps && kept.count.saturating_mul(ONE_IN) >= kept.made;
    (enough && kept.bytes >= Bytes::mib(1)).then_some(kept)
}

/// What is kept, counted, and where it was made if that is more than one line.
pub(super) fn counted(kept: &Kept) -> Vec<String> {
    let mut lines = vec![format!(
        "{} of {} results of forward passes in {} steps are alive two or more steps later: {}",
        kept.count, kept.made, kept.steps, kept.bytes
    )];
    if kept.lines.len() > 1 {
        let named = kept.lines.iter().take(NAMED);
        lines.extend(named.map(|(place, bytes)| format!("{bytes} of them from {}", located(&place.line))));
    }
    lines
}

/// A line as it is shown.
pub(super) fn located(line: &Line) -> String {
    format!("{}:{} {}", line.file_name(), line.line, line.function)
}
