//! PyTorch's allocators with their numbers: CUDA, HIP, XPU and NPU, 1.0 to 2.15, and Metal.

use std::ops::Range;

use oomph_trace::Bytes;

use super::facts::{Facts, Framework};
use super::processes;
use super::size;
use super::text::{after, all, around, find};
use super::verdict::Confidence;
use super::wording::{Kind, Message};
use crate::cause::Cause;

/// A message is no longer than this behind its request.
const LONG: usize = 2000;

pub(super) fn find_all(text: &str, found: &mut Vec<Message>) {
    let anchors: Vec<Range<usize>> = all(text, "Tried to allocate ").collect();
    for (index, anchor) in anchors.iter().enumerate() {
        let next = anchors.get(index + 1).map_or(text.len(), |next| next.start);
        let end = around(text, anchor, 0, LONG).end.min(next);
        found.extend(allocator(text, anchor, &text[anchor.end..end]));
    }
    for anchor in all(text, "out of memory, trying to allocate ") {
        let Some((tried, _)) = size::leading(&text[anchor.end..]) else { continue };
        let mut report = Message::new(anchor.clone(), Framework::PyTorch, Kind::Numbers);
        report.facts.tried = Some(tried);
        found.push(report);
    }
}

/// The message around one "Tried to allocate".
fn allocator(text: &str, anchor: &Range<usize>, message: &str) -> Option<Message> {
    let before = around(text, &(anchor.start..anchor.start), 400, 0);
    let backend = backend(&text[before.clone()]);
    let (tried, rest) = match size::leading(message) {
        Some((tried, rest)) => (Some(tried), rest),
        None if find(message, "more than 1EB memory").is_some_and(|at| at.start < 3) => (None, message),
        None => return None,
    };
    let mut facts = Facts { tried, ..Facts::default() };
    let mut writer = None;
    let mut end = anchor.end + (message.len() - rest.len());
    if let Some(list) =
        rest.trim_start().strip_prefix('(').filter(|list| find(list, "total capacity").is_some())
    {
        let list = list.split([')', '\u{0}']).next().unwrap_or(list);
        writer = Some(list_of_amounts(list, after(rest, "try setting").is_some(), &mut facts));
        end += list.len() + 2;
    } else if let Some(sentence) =
        after(rest, "has a total capac").filter(|_| starts_near(rest, "has a total capac"))
    {
        writer = Some(sentences(rest, sentence, &mut facts));
        end = anchor.end + message.len() - after(rest, "but unallocated").map_or(sentence.len(), str::len);
    } else if find(rest, "pool. Use PYTORCH_MPS").is_some()
        || backend.is_some_and(|(kind, _)| kind == Backend::Mps)
    {
        return Some(metal(text, before, anchor.start..end, facts));
    }
    // Where the beginning was cut off, what follows is still PyTorch's own wording.
    let cut = facts.total.map(|_| (Backend::Gpu, anchor.start));
    let (backend, start) = backend.map(|(kind, at)| (kind, before.start + at)).or(cut)?;
    let framework = match backend {
        Backend::Gpu | Backend::Mps => Framework::PyTorch,
        Backend::Xpu => Framework::PyTorchXpu,
        Backend::Npu => Framework::PyTorchNpu,
    };
    let mut report = Message::new(start..end.max(anchor.end), framework, Kind::Numbers);
    if tried.is_none() {
        report = report.told(
            Cause::Disguised,
            Confidence::High,
            "the request is more than 10^18 bytes: a size that was computed wrongly, not a need",
        );
    }
    report.facts = facts;
    report.writer = writer;
    Some(report)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backend {
    Gpu,
    Xpu,
    Npu,
    Mps,
}

/// Whose memory it is, and where the message begins.
fn backend(before: &str) -> Option<(Backend, usize)> {
    let names = [
        ("CUDA out of memory", Backend::Gpu),
        ("HIP out of memory", Backend::Gpu),
        ("XPU out of memory", Backend::Xpu),
        ("NPU out of memory", Backend::Npu),
        ("MPS backend out of memory", Backend::Mps),
    ];
    let last = |(phrase, kind)| all(before, phrase).last().map(|at| (kind, at.start));
    names.into_iter().filter_map(last).max_by_key(|(_, at)| *at)
}

fn starts_near(text: &str, phrase: &str) -> bool {
    find(text, phrase).is_some_and(|at| at.start < 60)
}

/// 1.0 to 2.0: `(GPU 0; 10.92 GiB total capacity; 8.57 MiB already allocated; 9.28 GiB free; 4.68 MiB cached)`.
fn list_of_amounts(list: &str, has_hint: bool, facts: &mut Facts) -> &'static str {
    let mut cached = None;
    let mut is_in_total = false;
    for item in list.split(';') {
        let item = item.trim();
        if let Some(index) =
            item.split_whitespace().nth(1).filter(|_| !item.starts_with(|c: char| c.is_ascii_digit()))
        {
            facts.device = facts.device.or(index.parse().ok());
        }
        let Some((bytes, name)) = size::leading(item) else { continue };
        let is = |word: &str| find(name, word).is_some();
        if is("total capacity") {
            facts.total = Some(bytes);
        } else if is("already allocated") {
            facts.allocated = Some(bytes);
        } else if is("reserved in total") || is("reserved") {
            facts.reserved = Some(bytes);
            is_in_total = true;
        } else if is("cached") {
            cached = Some(bytes);
        } else if is("allowed") {
            facts.allowed = Some(bytes);
        } else if is("free") {
            facts.free = Some(bytes);
        }
    }
    if let (Some(cached), Some(allocated)) = (cached, facts.allocated) {
        facts.reserved = Some(allocated + cached);
    }
    match (is_in_total, has_hint, facts.allowed) {
        (false, ..) => "1.0 to 1.3",
        (true, true, _) => "1.10 to 2.0",
        (true, false, Some(_)) => "1.8 to 1.9",
        (true, false, None) => "1.4 to 2.0",
    }
}

/// 2.1 and later: whole sentences.
fn sentences(rest: &str, capacity: &str, facts: &mut Facts) -> &'static str {
    let amount = |from: Option<&str>| from.and_then(size::leading).map(|(bytes, _)| bytes);
    facts.device =
        after(rest, "GPU ").and_then(size::leading_number).and_then(|(index, _)| index.try_into().ok());
    facts.total = amount(after(capacity, "of "));
    facts.free = amount(after(rest, "of which ")).filter(|_| find(rest, "is free").is_some());
    let own = after(rest, "Of the allocated memory ");
    facts.allocated = amount(own);
    facts.private_pools = own.and_then(|own| {
        let with = after(own, "allocated by PyTorch, with ")?;
        find(with, "allocated in private pools").filter(|at| at.start < 40)?;
        amount(Some(with))
    });
    let cached = own.and_then(|own| {
        let reserved = find(own, "is reserved by PyTorch but unallocated")?;
        let amount_before = own[..reserved.start].rfind("and ")?;
        amount(Some(&own[amount_before + 4..]))
    });
    if let (Some(allocated), Some(cached)) = (facts.allocated, cached) {
        facts.reserved = Some(allocated + cached);
    }
    facts.allowed = find(rest, "allowed; Of the").and_then(|at| {
        let mut words = rest[..at.start].split_whitespace().rev();
        let (unit, number) = (words.next()?, words.next()?);
        size::leading(&format!("{number} {unit}")).map(|(bytes, _)| bytes)
    });
    processes::read(rest, facts);
    let has = |phrase: &str| find(rest, phrase).is_some();
    if capacity.starts_with("ty") {
        "2.1"
    } else if has("expandable_segments is enabled") || has("expandable-segment reserve") {
        "2.15 or later"
    } else if has("optimizing-memory-usage-with-pytorch") {
        "2.11 or later"
    } else if has("PYTORCH_ALLOC_CONF=") {
        "2.9 to 2.10"
    } else if facts.private_pools.is_some() {
        "2.4 to 2.10"
    } else {
        "2.2 or later"
    }
}

/// `MPS backend out of memory (MPS allocated: 9.57 GiB, other allocations: 17.35 GiB, max allowed: 27.20 GiB).`
fn metal(text: &str, before: Range<usize>, anchor: Range<usize>, mut facts: Facts) -> Message {
    let head = &text[before.clone()];
    let start =
        all(head, "MPS backend out of memory").last().map_or(anchor.start, |at| before.start + at.start);
    let head = &text[start..anchor.start];
    let amount =
        |name| -> Option<Bytes> { after(head, name).and_then(size::leading).map(|(bytes, _)| bytes) };
    facts.allocated = amount("MPS allocated:");
    facts.other_allocations = amount("other allocations:");
    facts.total = amount("max allowed:");
    let mut report = Message::new(start..anchor.end, Framework::PyTorch, Kind::Mps);
    report.facts = facts;
    report
}
