//! OOM005: a setting that does nothing.

use super::{Evidence, Finding, RuleInfo};

pub(super) const INFO: RuleInfo = RuleInfo {
    id: "OOM005",
    name: "a setting without effect",
    summary: "A setting is on that does nothing here.",
    file: "settings.rs",
    page: "\
**Claims** that `garbage_collection_threshold` is set but cannot work.

**Why.** From PyTorch 2.10 on it needs a memory fraction below 1.

**What to do.** Call `torch.cuda.set_per_process_memory_fraction` with less
than 1, or drop the setting.

**Silent** where a limit is known or inferred, and before 2.10. It names no
cause.

```text
garbage_collection_threshold:0.8 has no effect here [OOM005]
  from PyTorch 2.10 on it works only after set_per_process_memory_fraction
  with less than 1
  the recording shows no collection
```
",
};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let setup = &evidence.recording.setup;
    let threshold = setup.options.garbage_collection_threshold;
    if threshold <= 0.0 || setup.limit.is_some() || setup.profile.full_fraction_is_a_limit {
        return None;
    }
    Some(Finding {
        rule: INFO.id,
        cause: None,
        claim: format!("garbage_collection_threshold:{threshold} has no effect here"),
        evidence: vec![
            "from PyTorch 2.10 on it works only after set_per_process_memory_fraction with less than 1"
                .to_owned(),
            "the recording shows no collection".to_owned(),
        ],
    })
}
