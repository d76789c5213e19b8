//! OOM001: what was in use and the request together exceed the limit; no allocator could have served it.

use super::{Cause, Evidence, Finding};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let failed = evidence.moment.failed?;
    let ceiling = evidence.recording.ceiling()?;
    let active = evidence.moment.counters.active;
    let needed = active + failed.size;
    if needed <= ceiling || super::growth::is_cause(evidence) {
        return None;
    }
    Some(Finding {
        rule: "OOM001",
        cause: Some(Cause::Capacity),
        claim: format!("{} more was needed than there is", needed - ceiling),
        evidence: vec![
            format!("in use {active} + request {} = {needed}, limit {ceiling}", failed.size),
            format!("cached and unusable: {}", evidence.moment.counters.cached()),
        ],
    })
}
