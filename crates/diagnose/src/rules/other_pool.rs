//! OOM009: what was free belonged to the other size class.
//! Silent unless it was most of the cache and as much as the request.

use oomph_engine::torch::rounding::SMALL_LIMIT;

use super::{Evidence, Finding};

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let failed = evidence.moment.failed.filter(|_| super::would_have_fitted(evidence) == Some(true))?;
    let cached = evidence.moment.counters.cached();
    let stranded = failed.other_class;
    if stranded.share_of(cached) < 0.5 || stranded < failed.size {
        return None;
    }
    let (theirs, ours) = if failed.size > SMALL_LIMIT { ("small", "large") } else { ("large", "small") };
    Some(Finding {
        rule: "OOM009",
        cause: None,
        claim: format!("{stranded} was free in the pool of {theirs} requests, which serves no {ours} one"),
        evidence: vec![
            format!("cached {cached} in all; the request is {}", failed.size),
            "a segment of that pool goes back only when nothing in it is in use".to_owned(),
        ],
    })
}
