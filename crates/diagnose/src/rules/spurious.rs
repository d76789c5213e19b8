//! OOM004: a block that would have served the request was free when it failed. PyTorch completes pending frees when
//! it gives up its cache, but does not search the cache again.

use super::{Evidence, Finding};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let failed = evidence.moment.failed.filter(|failed| failed.spurious)?;
    Some(Finding {
        rule: "OOM004",
        cause: None,
        claim: "the request failed although a free block would have served it".to_owned(),
        evidence: vec![
            format!("largest free block {}, request {}", failed.stranded.largest, failed.size),
            "its free completed during the failing request, after the cache had been searched".to_owned(),
            "the same request, made again, succeeds".to_owned(),
        ],
    })
}
