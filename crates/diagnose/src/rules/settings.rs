//! OOM005: a setting that does nothing.

use super::{Evidence, Finding};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let setup = &evidence.recording.setup;
    let threshold = setup.options.garbage_collection_threshold;
    if threshold <= 0.0 || setup.limit.is_some() || setup.profile.full_fraction_is_a_limit {
        return None;
    }
    Some(Finding {
        rule: "OOM005",
        cause: None,
        claim: format!("garbage_collection_threshold:{threshold} has no effect here"),
        evidence: vec![
            "from PyTorch 2.10 on it works only after set_per_process_memory_fraction with less than 1"
                .to_owned(),
            "the recording shows no collection".to_owned(),
        ],
    })
}
