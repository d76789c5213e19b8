//! From facts to a cause, by arithmetic. Where the numbers do not decide, the answer is that they do not.

use oomph_trace::Bytes;

use super::facts::{Facts, Framework};
use super::verdict::{Confidence, Verdict};
use super::wording::{Kind, Message};
use crate::cause::Cause;

/// No computer's device has this much; a request for it is a size gone wrong.
const ABSURD: Bytes = Bytes(1 << 44);
/// Free and cached memory must exceed the request by this factor before pieces are to blame: within it, a request
/// that fits today fails tomorrow.
const CLEARLY: f64 = 1.25;
/// Cached memory below this share of what is held is what any allocator has lying about.
const NOTABLE: f64 = 0.05;
/// A request below this share of the device is a small one.
const SMALL: f64 = 0.01;
/// What a process takes beside its tensors (context, libraries, a desktop) stays below this, or below the share.
const OUTSIDE: Bytes = Bytes(3 << 29);
const OUTSIDE_SHARE: f64 = 0.25;
/// Above this, memory outside is somebody else's whatever its share.
const MUCH_OUTSIDE: Bytes = Bytes(4 << 30);
/// PyTorch takes segments of this size for requests of up to 1 MiB.
const SMALL_SEGMENT: Bytes = Bytes(2 << 20);
/// What the largest devices have, and what large ones have.
const LARGEST_DEVICE: Bytes = Bytes(192 << 30);
const LARGE_DEVICE: Bytes = Bytes(80 << 30);
/// Intel's drivers refuse a larger block unless told otherwise.
const XPU_BLOCK: Bytes = Bytes(4 << 30);

const RECORD: &str = "record a snapshot (torch.cuda.memory._record_memory_history, then _dump_snapshot) and run: oomph explain SNAPSHOT";
const LOOK: &str = "see who holds the device while the job is down: nvidia-smi";

/// The cause of a message.
pub(super) fn judge(report: &Message) -> Verdict {
    if let Some(absurd) = absurd(report) {
        return absurd;
    }
    let counted = match report.kind {
        Kind::Numbers if report.framework == Framework::TensorFlow => arena(&report.facts),
        Kind::Numbers if report.framework.is_pytorch() => device(&report.facts, report.framework),
        Kind::Numbers => against_free(&report.facts),
        Kind::Async => pool(&report.facts),
        Kind::Mps => against_limit(&report.facts),
        Kind::Wording | Kind::Bare | Kind::Warning => None,
    };
    let counted = counted.or_else(|| outsized(report));
    counted.or_else(|| told(report)).unwrap_or_else(|| {
        let why = "the message does not print enough to tell".to_owned();
        Verdict::new(Cause::Unknown, Confidence::High, vec![why]).asking(RECORD)
    })
}

fn told(report: &Message) -> Option<Verdict> {
    let told = report.told?;
    let verdict = Verdict::new(told.cause, told.confidence, vec![told.why.to_owned()]);
    Some(match (told.cause, report.framework.is_pytorch()) {
        (Cause::Unknown, true) => verdict.asking(RECORD),
        (Cause::Unknown, false) => verdict.asking(LOOK),
        _ => verdict,
    })
}

/// A request larger than devices are, where the message says nothing of the device.
fn outsized(report: &Message) -> Option<Verdict> {
    let tried = report.facts.tried.filter(|_| report.facts.total.is_none() && !report.is_of_host())?;
    let confidence = match tried {
        tried if tried >= LARGEST_DEVICE => Confidence::High,
        tried if tried >= LARGE_DEVICE => Confidence::Medium,
        _ => return None,
    };
    let why = format!("the request alone is {tried}, as much as a large device has in all");
    Some(Verdict::new(Cause::Capacity, confidence, vec![why]))
}

impl Message {
    /// Whether it is the computer's memory that was asked for.
    fn is_of_host(&self) -> bool {
        self.told.is_some_and(|told| told.cause == Cause::HostMemory)
    }
}

/// Sizes that no job needs. Arrays of the host are as large as their shape says, and the shape is printed.
fn absurd(report: &Message) -> Option<Verdict> {
    let tried = report.facts.tried?;
    let is_array = report.framework == Framework::Numpy;
    (tried >= ABSURD && !is_array).then(|| {
        let why = format!(
            "the request is {tried} ({} bytes): a size that was computed wrongly, not a need",
            tried.0
        );
        Verdict::new(Cause::Disguised, Confidence::High, vec![why])
    })
}

/// PyTorch's caching allocator: request, free, cached, outside.
fn device(facts: &Facts, framework: Framework) -> Option<Verdict> {
    let tried = facts.tried?;
    let (total, allocated, reserved) = (facts.total?, facts.allocated?, facts.reserved?);
    let cached = reserved.saturating_sub(allocated);
    if tried > total {
        let why = vec![format!("request {tried} > device {total}")];
        return Some(Verdict::new(Cause::Capacity, Confidence::High, why));
    }
    if let Some(verdict) =
        facts.allowed.filter(|allowed| *allowed < total).and_then(|allowed| limited(facts, allowed))
    {
        return Some(verdict);
    }
    let Some(free) = facts.free else { return Some(without_free(facts, framework, tried, total)) };
    if tried <= free {
        let why = vec![
            format!("request {tried} ≤ free {free}: there was room when the message was written"),
            "another process may have left in between, or the driver refused for a reason that is not printed".to_owned(),
        ];
        return Some(Verdict::new(Cause::Unknown, Confidence::High, why).asking(RECORD));
    }
    let usable = free + cached;
    let sum = format!("free {free} + cached {cached} = {usable}, request {tried}");
    if let Some(verdict) = elsewhere(facts, framework, usable, &sum) {
        return Some(verdict);
    }
    let live = format!("live tensors {allocated} of {total} ({:.0}%)", 100.0 * allocated.share_of(total));
    let is_notable = cached.share_of(reserved) >= NOTABLE;
    if tried <= SMALL_SEGMENT
        && usable > tried
        && cached > Bytes::ZERO
        && !is_notable
        && allocated.share_of(total) > 0.85
    {
        let why = vec![
            live,
            format!(
                "the request is one of the smallest there are ({tried}), and {cached} had been freed before: memory crept up to the limit"
            ),
        ];
        return Some(Verdict::new(Cause::Leak, Confidence::Low, why).asking(RECORD));
    }
    let surplus = usable.share_of(tried);
    if surplus >= CLEARLY && (is_notable || tried.share_of(total) >= SMALL) {
        let confidence = if cached >= tried { Confidence::High } else { Confidence::Medium };
        let why = vec![sum, "enough in all, but not in one piece".to_owned(), live];
        return Some(Verdict::new(Cause::Fragmentation, confidence, why));
    }
    let mut why = vec![sum, live];
    let confidence = if usable < tried {
        why.insert(1, format!("{} is missing even if nothing were in pieces", tried - usable));
        Confidence::High
    } else {
        why.insert(1, "enough in all by a hair: in one piece or not, the next request would fail".to_owned());
        Confidence::Medium
    };
    Some(Verdict::new(Cause::Capacity, confidence, why))
}

/// A limit below the device's size, set by the user.
fn limited(facts: &Facts, allowed: Bytes) -> Option<Verdict> {
    let (tried, allocated, reserved) = (facts.tried?, facts.allocated?, facts.reserved?);
    if reserved + tried <= allowed {
        return None;
    }
    let sum = format!("live tensors {allocated} + request {tried} = {}, limit {allowed}", allocated + tried);
    Some(if allocated + tried > allowed {
        Verdict::new(Cause::Capacity, Confidence::High, vec![sum])
    } else {
        let cached = format!("cached {} could not serve it", reserved.saturating_sub(allocated));
        Verdict::new(Cause::Fragmentation, Confidence::Medium, vec![sum, cached])
    })
}

/// Older XPU messages do not print what is free.
fn without_free(facts: &Facts, framework: Framework, tried: Bytes, total: Bytes) -> Verdict {
    let allocated = facts.allocated.unwrap_or_default();
    if framework == Framework::PyTorchXpu && allocated + tried <= total && tried > XPU_BLOCK {
        let why = vec![
            format!("live tensors {allocated} + request {tried} ≤ device {total}: there is room"),
            format!("Intel's driver refuses a single block of more than {XPU_BLOCK}"),
        ];
        return Verdict::new(Cause::Disguised, Confidence::Medium, why);
    }
    if allocated + tried > total {
        let why = vec![format!("live tensors {allocated} + request {tried} > device {total}")];
        return Verdict::new(Cause::Capacity, Confidence::High, why);
    }
    let why = vec!["the message does not print what was free".to_owned()];
    Verdict::new(Cause::Unknown, Confidence::High, why).asking(RECORD)
}

/// Memory that is in use on the device, but not by this process.
fn elsewhere(facts: &Facts, framework: Framework, usable: Bytes, sum: &str) -> Option<Verdict> {
    let (tried, total) = (facts.tried?, facts.total?);
    let (others, how) = match (facts.other_process, facts.this_process, facts.free) {
        (Some(others), ..) => (others, "other processes hold"),
        (None, Some(this), Some(free)) => {
            (total.saturating_sub(free).saturating_sub(this), "processes that are not listed hold")
        }
        (None, None, _) => (facts.outside()?, "outside this process's allocator there is"),
        (None, Some(_), None) => return None,
    };
    if !is_much(others, total) || tried > usable + others {
        return None;
    }
    let share = format!("{how} {others} of {total}; {sum}");
    // An AMD card reports a little less than its size; a round number is memory shared with the host, and the host
    // or its firmware may hold the rest.
    let is_shared =
        facts.processes.is_empty() && framework == Framework::PyTorch && facts.device_shares_host();
    Some(if is_shared {
        let why = "a device of a round size shares its memory with the host, which may hold or withhold it"
            .to_owned();
        Verdict::new(Cause::Unknown, Confidence::High, vec![share, why]).asking(LOOK)
    } else {
        let confidence = if facts.other_process.is_some() { Confidence::High } else { Confidence::Medium };
        Verdict::new(Cause::OtherProcess, confidence, vec![share])
    })
}

/// Whether memory outside the allocator is more than a process takes beside its tensors.
fn is_much(bytes: Bytes, total: Bytes) -> bool {
    bytes >= MUCH_OUTSIDE || bytes >= OUTSIDE && bytes.share_of(total) >= OUTSIDE_SHARE
}

impl Facts {
    fn device_shares_host(&self) -> bool {
        self.total.is_some_and(|total| total >= Bytes::gib(32) && total.0.is_multiple_of(1 << 30))
    }
}

/// TensorFlow's arena: limit and use are in the dump.
fn arena(facts: &Facts) -> Option<Verdict> {
    let (total, allocated) = (facts.total?, facts.allocated?);
    let Some(tried) = facts.tried else {
        let why = vec![format!("{allocated} of {total} in use; the request is not in this part of the log")];
        return Some(
            Verdict::new(Cause::Unknown, Confidence::High, why)
                .asking("give the whole dump, from its first line on"),
        );
    };
    let sum = format!("in use {allocated} + request {tried} = {}, limit {total}", allocated + tried);
    let left = total.saturating_sub(allocated);
    Some(if left.share_of(tried) >= CLEARLY {
        Verdict::new(
            Cause::Fragmentation,
            Confidence::Medium,
            vec![sum, format!("{left} was free, in pieces")],
        )
    } else {
        Verdict::new(Cause::Capacity, Confidence::High, vec![sum])
    })
}

/// Request against what was free; nothing else is known.
fn against_free(facts: &Facts) -> Option<Verdict> {
    let (tried, free) = (facts.tried?, facts.free?);
    Some(if tried > free {
        Verdict::new(Cause::Capacity, Confidence::Medium, vec![format!("request {tried} > free {free}")])
    } else {
        let why = vec![format!("request {tried} ≤ free {free}: there was enough in all")];
        Verdict::new(Cause::Fragmentation, Confidence::Low, why)
    })
}

/// cudaMallocAsync: its pool's cache is not printed.
fn pool(facts: &Facts) -> Option<Verdict> {
    let (tried, total, allocated) = (facts.tried?, facts.total?, facts.allocated?);
    let limit = facts.allowed.map_or(total, |allowed| allowed.min(total));
    let sum = format!("live tensors {allocated} + request {tried} = {}, limit {limit}", allocated + tried);
    let outside = facts.outside().unwrap_or_default();
    let has_room = facts.free.is_some_and(|free| tried <= free) && facts.allowed.is_none();
    if allocated + tried > limit || !has_room && !is_much(outside, total) {
        return Some(Verdict::new(Cause::Capacity, Confidence::High, vec![sum]));
    }
    let why = "the rest is cached in the driver's pool or held by others; the message does not print which"
        .to_owned();
    Some(Verdict::new(Cause::Unknown, Confidence::Medium, vec![sum, why]).asking(LOOK))
}

/// Metal: everything counts against one limit.
fn against_limit(facts: &Facts) -> Option<Verdict> {
    let (tried, limit, allocated) = (facts.tried?, facts.total?, facts.allocated?);
    let other = facts.other_allocations.unwrap_or_default();
    let needed = allocated + other + tried;
    let sum = format!(
        "tensors {allocated} + other allocations {other} + request {tried} = {needed}, limit {limit}"
    );
    // The printed numbers are rounded.
    Some(if needed.0 >= limit.0 - limit.0 / 200 {
        Verdict::new(Cause::Capacity, Confidence::High, vec![sum])
    } else {
        Verdict::new(Cause::Unknown, Confidence::Medium, vec![sum]).asking(LOOK)
    })
}
