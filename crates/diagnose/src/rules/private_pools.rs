//! OOM012: private pools cache memory that nobody else may use.
//! Silent where it is less than a tenth of what is held, or at a failure less than the request.

use super::{Evidence, Finding, percent};

/// The share of what is held from which it is worth a word.
const NOTABLE: f64 = 0.1;

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let moment = evidence.moment;
    let (private, reserved) = (moment.private, moment.counters.reserved);
    let notable = match moment.failed {
        Some(failed) => private >= failed.size,
        None => private.share_of(reserved) >= NOTABLE,
    };
    if !notable {
        return None;
    }
    Some(Finding {
        rule: "OOM012",
        cause: None,
        claim: format!(
            "{private} was cached by private pools, which only they may use ({})",
            percent(private, reserved)
        ),
        evidence: vec![
            format!("held {reserved}, of which in use {}", moment.counters.active),
            "it goes back to the driver only when its graphs or pools are gone".to_owned(),
        ],
    })
}
