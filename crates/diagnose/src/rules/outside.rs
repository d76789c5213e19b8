//! OOM014: it was the card that was full, and what is in it beside PyTorch's memory the recording cannot tell.
//! Silent where a limit of PyTorch's refused, or nothing tells who did.

use oomph_engine::program::Refusal;
use oomph_engine::recording::LimitSource;

use super::{Evidence, Finding, RuleInfo};

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM014",
    name: "memory outside PyTorch",
    summary: "The card itself was full, partly with what the recording does not show.",
    file: "outside.rs",
    page: "\
**Claims** that the driver refused, not a limit of PyTorch's, and what it had
left beside what this process held. Both together are all that was to be had;
what the card has beyond that was outside PyTorch's memory.

**Why.** Other processes, the CUDA context (some hundred MiB per process),
NCCL, cuBLAS and cuDNN workspaces are not in a recording.

**What to do.** Compare the sum with the card's size. If much is missing, see
who has it: `nvidia-smi`. Close other processes, or restart a notebook's
kernel that still holds memory.

**Silent** without a failure; where a limit was given, or PyTorch's own limit
refused. The card's size is not in the file, so it cannot say how much is
outside. It names no cause.

```text
the card was full: 1000.00 MiB was all that this process could have [OOM014]
  held 900.00 MiB, and the driver had 100.00 MiB left
  what the card has beyond that is outside PyTorch's memory; nvidia-smi shows
  who has it
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let recording = evidence.recording;
    let failed = evidence.moment.failed?;
    let Some(Refusal::Device { .. }) = recording.program.limit.refusal else { return None };
    if recording.limit_source == LimitSource::Given
        || recording.limit_source == LimitSource::Recorded && recording.setup.capacity.is_none()
    {
        return None;
    }
    let left = recording.trace.events.get(evidence.moment.event.index())?.device_free();
    let held = evidence.moment.counters.reserved;
    if left >= failed.segment {
        return None;
    }
    Some(Finding {
        rule: INFO.id,
        cause: None,
        claim: format!("the card was full: {} was all that this process could have", held + left),
        evidence: vec![
            format!("held {held}, and the driver had {left} left"),
            "what the card has beyond that is outside PyTorch's memory; nvidia-smi shows who has it"
                .to_owned(),
        ],
    })
}
