//! Another process holds so much of the card that this one cannot have what it needs.

use super::{Basis, Case, Kind, Lives, Verdict};
use crate::cause::Cause;
use oomph_trace::Bytes;

pub(super) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let beside = case.beside?;
    let others = beside.others?;
    // A limit that was set refuses whatever others hold.
    if case.evidence.recording.setup.limit.is_some_and(|limit| {
        limit <= case.limit && case.evidence.recording.setup.capacity.is_none_or(|card| limit < card)
    }) {
        return None;
    }
    let alone = beside.total.saturating_sub(beside.context);
    if others < Bytes::mib(256) || case.need.total > alone || case.needed + others <= alone {
        return None;
    }
    let sidecar = case.evidence.recording.snapshot.sidecar.as_ref()?;
    let card = sidecar.card(case.evidence.recording.trace().device)?;
    let largest = card
        .processes
        .iter()
        .filter(|process| Some(process.pid) != sidecar.identity.pid)
        .max_by_key(|process| process.bytes);
    let who =
        largest.map_or_else(String::new, |process| format!(" (the largest is process {})", process.pid));
    let claim = format!(
        "other processes hold {others} of the card's {}{who}; without them {} would have fitted",
        beside.total, case.needed
    );
    let why = format!("{alone} is there for this process when the card is its own");
    let verdict = Verdict::new(Cause::OtherProcess, Kind::OtherProcess, claim)
        .blame(case.asked())
        .cure(
            "end the other process, or use another card (nvidia-smi shows who is on it)",
            Basis::Computed,
            Lives::ForGood,
            why,
        )
        .needs(case.needed)
        .not(
            Cause::Capacity,
            format!("{} was needed in all, and the card has {}", case.needed, beside.total),
        );
    Some(verdict.sealed())
}
