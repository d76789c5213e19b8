//! OOM010: what was free belonged to another stream.
//! Silent unless it was most of the cache and as much as the request.

use super::{Evidence, Finding};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let failed = evidence.moment.failed.filter(|_| super::would_have_fitted(evidence) == Some(true))?;
    let cached = evidence.moment.counters.cached();
    let stranded = failed.stranded.other_stream;
    if stranded.share_of(cached) < 0.5 || stranded < failed.size {
        return None;
    }
    Some(Finding {
        rule: "OOM010",
        cause: None,
        claim: format!("{stranded} was free for other streams, and this one may not use it"),
        evidence: vec![
            format!("cached {cached} in all; the request is {}", failed.size),
            "a segment of theirs goes back only when nothing in it is in use".to_owned(),
        ],
    })
}
