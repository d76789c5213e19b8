//! JAX and XLA: `RESOURCE_EXHAUSTED` on GPUs and TPUs, with the peak buffers that may follow.

use super::facts::Framework;
use super::size;
use super::text::{after, all, around, find};
use super::verdict::Confidence;
use super::wording::{Kind, Message};
use crate::cause::Cause;

const SILENT: &str = "XLA prints the request alone: neither what the device had free nor who held the rest";

pub(super) fn find_all(text: &str, found: &mut Vec<Message>) {
    for phrase in ["Out of memory while trying to allocate ", "Failed to allocate request for "] {
        for anchor in all(text, phrase) {
            let message = &text[anchor.end..around(text, &anchor, 0, 120).end];
            let Some((printed, rest)) = size::leading(message) else { continue };
            let exact = rest.strip_prefix(" (").and_then(size::leading).map(|(bytes, _)| bytes);
            let mut report = Message::new(anchor, Framework::Jax, Kind::Wording).told(
                Cause::Unknown,
                Confidence::High,
                SILENT,
            );
            report.facts.tried = exact.or(Some(printed));
            report.facts.device = after(rest, "device ordinal ")
                .and_then(size::leading_number)
                .and_then(|(index, _)| index.try_into().ok());
            found.push(report);
        }
    }
    high_bandwidth(text, found);
    reservations(text, found);
}

/// TPUs: `Ran out of memory in memory space hbm. Used 9.08G of 7.48G hbm.`
fn high_bandwidth(text: &str, found: &mut Vec<Message>) {
    for anchor in all(text, "Ran out of memory in memory space ") {
        let message = &text[anchor.end..around(text, &anchor, 0, 200).end];
        let mut report = Message::new(anchor, Framework::Tpu, Kind::Wording).told(
            Cause::Capacity,
            Confidence::High,
            "the compiler added up the whole program: it needs more than the chip has",
        );
        let used = after(message, "Used ").and_then(size::leading).map(|(_, rest)| rest);
        report.facts.total =
            used.and_then(|rest| after(rest, "of ")).and_then(size::leading).map(|(bytes, _)| bytes);
        found.push(report);
    }
}

/// TPUs, later: `Attempting to allocate 4.32G. That was not possible. There are 2.10G free.`
fn reservations(text: &str, found: &mut Vec<Message>) {
    for anchor in all(text, "That was not possible. There are ") {
        let start = around(text, &anchor, 100, 0).start;
        let head = &text[start..anchor.start];
        let Some(tried) =
            after(head, "Attempting to allocate ").or_else(|| after(head, "Attempting to reserve "))
        else {
            continue;
        };
        let mut report = Message::new(anchor.clone(), Framework::Tpu, Kind::Numbers);
        report.facts.tried = size::leading(tried).map(|(bytes, _)| bytes);
        report.facts.free = size::leading(&text[anchor.end..]).map(|(bytes, _)| bytes);
        found.push(report);
    }
    for anchor in all(text, "RESOURCE_EXHAUSTED") {
        let near = &text[around(text, &anchor, 120, 300)];
        let is_memory = find(near, "memory").is_some() || find(near, "allocat").is_some();
        if is_memory && (find(near, "jax").is_some() || find(near, "xla").is_some()) {
            found.push(Message::new(anchor, Framework::Jax, Kind::Bare).told(
                Cause::Unknown,
                Confidence::High,
                SILENT,
            ));
        }
    }
}
