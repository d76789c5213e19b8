//! OOM014: it was the card that was full, partly with what is not PyTorch's memory; a plain snapshot cannot tell how
//! much that is.
//! Silent where a limit of PyTorch's refused, or nothing tells who did.

use oomph_engine::program::Refusal;
use oomph_engine::recording::LimitSource;
use oomph_trace::Bytes;
use oomph_trace::sidecar::Process;

use crate::card;

use super::{Evidence, Finding};

/// How many other processes are named.
const NAMED: usize = 3;

pub(super) fn find(evidence: &Evidence<'_>) -> Option<Finding> {
    let recording = evidence.recording;
    let failed = evidence.moment.failed?;
    let Some(Refusal::Device { .. }) = recording.program.limit.refusal else { return None };
    if recording.limit_source == Some(LimitSource::Given)
        || recording.limit_source == Some(LimitSource::Recorded) && recording.setup.capacity.is_none()
    {
        return None;
    }
    let left = recording.trace().events.get(evidence.moment.event.index())?.device_free();
    let held = evidence.moment.counters.reserved;
    if left >= failed.segment {
        return None;
    }
    Some(Finding {
        rule: "OOM014",
        cause: None,
        claim: format!("the card was full: {} was all that this process could have", held + left),
        evidence: [format!("held {held}, and the driver had {left} left")]
            .into_iter()
            .chain(outside(evidence))
            .collect(),
    })
}

/// What is outside of PyTorch's memory, and whose, as far as it is known.
fn outside(evidence: &Evidence<'_>) -> Vec<String> {
    let recording = evidence.recording;
    let sidecar = recording.snapshot.sidecar.as_ref();
    let Some((sidecar, beside)) = sidecar.zip(card::at(recording, evidence.moment)) else {
        let text = "what the card has beyond that is outside PyTorch's memory; nvidia-smi shows who has it";
        return vec![text.to_owned()];
    };
    let (total, context) = (beside.total, beside.context);
    let Some(others) = beside.others else {
        return vec![format!("the card has {total}: {context} of it is outside PyTorch's memory")];
    };
    let mut lines = vec![format!(
        "the card has {total}: {others} of it is other processes', {context} this process's CUDA context and libraries"
    )];
    let processes = sidecar.card(recording.trace().device).map_or(&[][..], |card| &card.processes);
    let foreign = processes.iter().filter(|process| Some(process.pid) != sidecar.identity.pid);
    let mut holders: Vec<(Bytes, &Process)> =
        foreign.filter_map(|process| Some((process.bytes?, process))).collect();
    holders.sort_by_key(|(bytes, process)| (std::cmp::Reverse(*bytes), process.pid));
    lines.extend(holders.into_iter().take(NAMED).map(|(bytes, process)| {
        let name = process.name.as_deref().map_or_else(String::new, |name| format!(" ({name})"));
        format!("process {}{name} has {bytes}", process.pid)
    }));
    lines
}
