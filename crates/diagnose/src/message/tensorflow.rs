//! TensorFlow: tensors that found no room, its BFC allocator's warnings and dumps, its driver's refusals.

use std::ops::Range;

use oomph_trace::Bytes;

use super::facts::Framework;
use super::phrases::Phrase;
use super::size;
use super::text::{after, all, around, find};
use super::verdict::Confidence;
use super::wording::{Kind, Message};
use crate::cause::Cause;

const FULL: &str = "TensorFlow takes nearly the whole device at its start, so that a tensor without room usually means \
                    too much work at once";

pub(super) const PHRASES: &[Phrase] = &[
    Phrase::of(Framework::TensorFlow, Cause::Capacity, Confidence::Low, "failed to allocate memory", FULL)
        .near("ResourceExhaustedError")
        .bare(),
    Phrase::of(
        Framework::TensorFlow,
        Cause::OtherProcess,
        Confidence::Medium,
        "CUDA runtime implicit initialization on GPU",
        "not even a context could be made: the device was full before this process began",
    )
    .near("out of memory"),
];

pub(super) fn find_all(text: &str, found: &mut Vec<Message>) {
    tensors(text, found);
    bfc(text, found);
    driver(text, found);
}

/// `OOM when allocating tensor with shape[64,2016,9,9] and type float on …GPU:0 by allocator GPU_0_bfc`.
fn tensors(text: &str, found: &mut Vec<Message>) {
    for anchor in all(text, "OOM when allocating tensor") {
        let message = &text[anchor.end..around(text, &anchor, 0, 400).end];
        let mut report = Message::new(anchor.clone(), Framework::TensorFlow, Kind::Numbers).told(
            Cause::Capacity,
            Confidence::Low,
            FULL,
        );
        report.facts.tried = shape(message);
        report.facts.device = after(message, "device:GPU:")
            .and_then(size::leading_number)
            .and_then(|(index, _)| index.try_into().ok());
        if find(message, "device:CPU:")
            .or_else(|| find(message, "by allocator cpu"))
            .is_some_and(|at| at.start < 200)
        {
            report = report.told(Cause::HostMemory, Confidence::High, "the tensor was to be made on the CPU");
        }
        found.push(report);
    }
}

/// What a printed shape and type take.
fn shape(message: &str) -> Option<Bytes> {
    let dimensions = after(message, "shape[").or_else(|| after(message, "shape ["))?;
    let (list, rest) = dimensions.split_once(']')?;
    let elements = size::product(list)?;
    let name = after(rest, "and type ").filter(|_| find(rest, "and type").is_some_and(|at| at.start < 12))?;
    size::of_elements(elements, name)
}

/// The BFC allocator's own lines. A run of warnings is one report, and the last of them the nearest to the end; a
/// failure comes with a dump, and its statistics close it.
fn bfc(text: &str, found: &mut Vec<Message>) {
    let mut warning: Option<Message> = None;
    let mut failures: Vec<Message> = Vec::new();
    for anchor in all(text, "ran out of memory trying to allocate ") {
        let message = &text[anchor.end..around(text, &anchor, 0, 400).end];
        let Some((printed, rest)) = size::leading(message) else { continue };
        let exact = after(rest, "(rounded to ").filter(|_| rest.starts_with(" (rounded to"));
        let tried = exact.and_then(size::leading_bytes).map_or(printed, |(bytes, _)| bytes);
        let is_soft = find(message, "not a failure").is_some_and(|at| at.start < 120);
        let mut report =
            Message::new(anchor, Framework::TensorFlow, if is_soft { Kind::Warning } else { Kind::Numbers });
        report.facts.tried = Some(tried);
        if is_soft {
            report = report.told(
                Cause::Capacity,
                Confidence::Medium,
                "a warning, no failure: a faster method wanted more memory than was left, and a smaller one was used",
            );
            warning = Some(report);
        } else {
            failures.push(report.told(Cause::Capacity, Confidence::Low, FULL));
        }
    }
    for stats in dumps(text) {
        let message = &text[stats.clone()];
        let amount = |name| after(message, name).and_then(size::leading_bytes).map(|(bytes, _)| bytes);
        let (total, in_use) = (amount("Limit:"), amount("InUse:").or_else(|| amount("in-use chunks:")));
        let near = failures
            .iter_mut()
            .rev()
            .find(|report| report.span.start < stats.start && report.facts.allocated.is_none());
        match near {
            Some(report) => {
                (report.facts.total, report.facts.allocated) = (total, in_use);
                // The dump belongs to the message, and the exception comes right behind it.
                report.span.end = stats.start + message.trim_end().rfind("InUse").unwrap_or_default();
            }
            None => {
                let mut report = Message::new(stats, Framework::TensorFlow, Kind::Numbers);
                (report.facts.total, report.facts.allocated) = (total, in_use);
                failures.push(report);
            }
        }
    }
    found.extend(failures);
    found.extend(warning);
}

/// The statistics at the end of each dump: from its sum to its last line.
fn dumps(text: &str) -> Vec<Range<usize>> {
    let sums = all(text, "Sum Total of in-use chunks").chain(all(text, "Stats:").filter(|stats| {
        find(&text[around(text, stats, 400, 0).start..stats.start], "Sum Total of in-use chunks").is_none()
    }));
    let limited = |sum: Range<usize>| around(text, &sum, 0, 600);
    sums.map(limited)
        .filter(|dump| {
            find(&text[dump.clone()], "Limit:").is_some()
                || find(&text[dump.clone()], "in-use chunks").is_some()
        })
        .collect()
}

/// `failed to allocate 106.88M (112066560 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY`, tried again with less and
/// less: the first is the request.
fn driver(text: &str, found: &mut Vec<Message>) {
    for (phrase, ends, is_host) in [
        ("failed to allocate ", "from device: CUDA_ERROR_OUT_OF_MEMORY", false),
        ("failed to alloc ", "on host: CUDA_ERROR_OUT_OF_MEMORY", true),
    ] {
        for anchor in all(text, phrase) {
            let message = &text[anchor.end..around(text, &anchor, 0, 120).end];
            if find(message, ends).is_none_or(|end| end.start > 60) {
                continue;
            }
            let Some((printed, rest)) = size::leading(message) else { continue };
            let exact = rest.trim_start().strip_prefix('(').and_then(size::leading).map(|(bytes, _)| bytes);
            let report = Message::new(anchor, Framework::TensorFlow, Kind::Wording);
            let mut report = if is_host {
                report.told(
                    Cause::HostMemory,
                    Confidence::High,
                    "page-locked memory of the host was refused, not memory of the device",
                )
            } else {
                report.told(
                    Cause::OtherProcess,
                    Confidence::Medium,
                    "TensorFlow asks the driver for what it takes to be free; a refusal means that others, or an earlier run, hold it",
                )
            };
            report.facts.tried = exact.or(Some(printed));
            found.push(report);
        }
    }
    for anchor in all(text, "failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY") {
        let message = &text[anchor.end..around(text, &anchor, 0, 120).end];
        let mut report = Message::new(anchor, Framework::TensorFlow, Kind::Wording).told(
            Cause::OtherProcess,
            Confidence::High,
            "not even a context could be made: the device was full before this process began",
        );
        report.facts.total =
            after(message, "total memory reported:").and_then(size::leading_bytes).map(|(bytes, _)| bytes);
        found.push(report);
    }
}
