//! The list of processes in PyTorch's messages, and which of them is the one that wrote it.

use oomph_trace::Bytes;

use super::facts::{Facts, Process};
use super::size;
use super::text::all;

/// Reads the list from a message into its facts.
pub(super) fn read(message: &str, facts: &mut Facts) {
    for found in all(message, "this process has ") {
        if let Some((bytes, _)) = size::leading(&message[found.end..]) {
            facts.this_process = Some(bytes);
            facts.processes.push(Process { pid: None, bytes, is_this: true });
        }
    }
    for found in all(message, "Process ") {
        let Some((pid, rest)) = size::leading_number(&message[found.end..]) else { continue };
        let Some(rest) = rest.trim_start().strip_prefix("has") else { continue };
        if let Some((bytes, _)) = size::leading(rest) {
            facts.processes.push(Process { pid: Some(pid), bytes, is_this: false });
        }
    }
    if facts.processes.is_empty() {
        return;
    }
    if facts.this_process.is_none()
        && let Some(own) = own(facts)
    {
        facts.processes[own].is_this = true;
        facts.this_process = Some(facts.processes[own].bytes);
    }
    let others: Vec<Bytes> =
        facts.processes.iter().filter(|process| !process.is_this).map(|process| process.bytes).collect();
    facts.other_process = (!others.is_empty()).then(|| others.into_iter().sum());
}

/// A process holds at least what its allocator reserved. The nearest above that is this one, unless the device has
/// room in use for this process beside all that are listed.
fn own(facts: &Facts) -> Option<usize> {
    // A message that was cut off says only what is in use.
    let reserved = facts.reserved.or(facts.allocated)?;
    // Printed with two decimals.
    let at_least = Bytes(reserved.0 - reserved.0 / 200);
    let listed: Bytes = facts.processes.iter().map(|process| process.bytes).sum();
    let (index, nearest) = (facts.processes.iter().enumerate())
        .filter(|(_, process)| process.bytes >= at_least)
        .min_by_key(|(_, process)| process.bytes)?;
    let unlisted = match (facts.total, facts.free) {
        (Some(total), Some(free)) => total.saturating_sub(free).saturating_sub(listed),
        _ => Bytes::ZERO,
    };
    let beyond = nearest.bytes.saturating_sub(reserved);
    let is_elsewhere = beyond > Bytes::gib(2) && unlisted >= at_least && unlisted > Bytes::mib(256);
    (!is_elsewhere).then_some(index)
}
