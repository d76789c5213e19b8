//! PyTorch's other wordings: the cudaMallocAsync backend, rejection ahead of time, log lines, errors without numbers.

use oomph_trace::Bytes;

use super::facts::{Facts, Framework};
use super::size;
use super::text::{after, all, around, find};
use super::verdict::Confidence;
use super::wording::{Kind, Message};
use crate::cause::Cause;

pub(super) fn find_all(text: &str, found: &mut Vec<Message>) {
    asynchronous(text, found);
    rejected(text, found);
    logged(text, found);
    without_numbers(text, found);
}

/// `Allocation on device 0 would exceed allowed memory. (out of memory)` and lines of `name : amount`.
fn asynchronous(text: &str, found: &mut Vec<Message>) {
    for anchor in all(text, "would exceed allowed memory") {
        let start = around(text, &anchor, 60, 0).start;
        let head = &text[start..anchor.start];
        let Some(begin) = find(head, "Allocation on device") else { continue };
        let message = &text[anchor.end..around(text, &anchor, 0, 700).end];
        let amount = |name: &str| -> Option<Bytes> {
            let rest = after(message, name)?.trim_start().strip_prefix(':')?;
            size::leading(rest).map(|(bytes, _)| bytes)
        };
        let mut report = Message::new(
            start + begin.start..anchor.end + message.len().min(330),
            Framework::PyTorch,
            Kind::Async,
        );
        report.facts = Facts {
            tried: amount("Requested"),
            total: amount("Device limit"),
            allocated: amount("Currently allocated"),
            free: amount("Free (according to CUDA)"),
            // Without a limit the largest number there is gets printed.
            allowed: amount("memory fraction)").filter(|limit| *limit < Bytes(1 << 60)),
            device: size::leading_number(&head[begin.end..]).and_then(|(index, _)| index.try_into().ok()),
            ..Facts::default()
        };
        report.writer = Some("1.13 or later, backend:cudaMallocAsync");
        found.push(report);
    }
}

/// `Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit.`
fn rejected(text: &str, found: &mut Vec<Message>) {
    for anchor in all(text, "Allocation was preemptively rejected") {
        let message = &text[anchor.end..around(text, &anchor, 0, 250).end];
        let start = around(text, &anchor, 40, 0).start;
        let begin = find(&text[start..anchor.start], "CUDA out of memory")
            .map_or(anchor.start, |at| start + at.start);
        let mut report = Message::new(begin..anchor.end + 70.min(message.len()), Framework::PyTorch, Kind::Wording).told(
            Cause::Capacity,
            Confidence::Medium,
            "the request would pass the limit that per_process_memory_fraction sets, and throw_on_cudamalloc_oom refuses it without trying to release cached memory first",
        );
        report.span.end = text.floor_char_boundary(report.span.end);
        report.facts.tried =
            after(message, "Requested size:").and_then(size::leading).map(|(bytes, _)| bytes);
        report.writer = Some("2.12 or later");
        found.push(report);
    }
}

/// 2.13 and later: exact bytes on a log line before the exception.
fn logged(text: &str, found: &mut Vec<Message>) {
    for anchor in all(text, "failed with OOM on device ") {
        let message = &text[anchor.end..around(text, &anchor, 0, 200).end];
        let amount = |name| after(message, name).and_then(size::leading_bytes).map(|(bytes, _)| bytes);
        let Some(tried) = amount("trying to allocate ").or_else(|| amount("trying to map ")) else {
            continue;
        };
        let mut report = Message::new(anchor.clone(), Framework::PyTorch, Kind::Numbers);
        report.facts.tried = Some(tried);
        report.facts.free = amount("(free:");
        report.facts.total = amount("total:");
        report.facts.device = size::leading_number(message).and_then(|(index, _)| index.try_into().ok());
        report.writer = Some("2.13 or later");
        found.push(report);
    }
}

/// Errors that carry no numbers.
fn without_numbers(text: &str, found: &mut Vec<Message>) {
    const OLD: &str = "PyTorch before 1.0 reports a failed tensor allocation this way and prints no numbers; \
                       most often the work does not fit";
    const RAW: &str = "the allocator of device tensors prints numbers when it fails, so that this is another call: \
                       most often page-locked host memory, else a context on a device that is already full";
    for phrase in
        ["cuda runtime error (2) : out of memory", "error=2 : out of memory", "error=2 error=out of memory"]
    {
        for anchor in all(text, phrase) {
            found.push(Message::new(anchor, Framework::PyTorch, Kind::Bare).told(
                Cause::Capacity,
                Confidence::Low,
                OLD,
            ));
        }
    }
    for phrase in
        ["CUDA error: out of memory", "HIP error: out of memory", "CUDA driver error: out of memory"]
    {
        for anchor in all(text, phrase) {
            // llama.cpp prints the same words; what follows tells.
            let near = &text[anchor.end..around(text, &anchor, 0, 200).end];
            if find(near, "current device:").is_none() && find(near, "ggml").is_none() {
                found.push(Message::new(anchor, Framework::PyTorch, Kind::Bare).told(
                    Cause::HostMemory,
                    Confidence::Low,
                    RAW,
                ));
            }
        }
    }
    for phrase in [
        "OutOfMemoryError: CUDA out of memory",
        "OutOfMemoryError: HIP out of memory",
        "RuntimeError: CUDA out of memory",
        "OutOfMemoryError: Allocation on device",
    ] {
        found.extend(all(text, phrase).map(|anchor| Message::new(anchor, Framework::PyTorch, Kind::Bare)));
    }
}
