//! Sizes that no device can have held. Files with such sizes, damaged or hostile, are refused here once, so that later
//! code can compute with the numbers of a snapshot.

use crate::error::ReadError;
use crate::event::Action;
use crate::snapshot::{Segment, Snapshot, Trace};
use crate::units::{Addr, Bytes};

/// No device holds more: 256 TiB, what 48 bits of address reach.
const MOST_MEMORY: Bytes = Bytes(1 << 48);
/// No request is larger: PyTorch refuses 2^60 bytes and more by itself ("more than 1EB memory").
const MOST_REQUESTED: Bytes = Bytes(1 << 60);
/// No job has more streams times pools; an allocator keeps a list for each pair.
const MOST_LISTS: usize = 1 << 20;
/// No machine has more, parts of cards counted.
const MOST_DEVICES: usize = 256;

impl Snapshot {
    /// Refuses sizes that no device has, ranges beyond the end of the address space, more devices than any
    /// machine has, and more streams and pools than any job uses. It does not check whether the parts of the snapshot agree with each other.
    pub fn check(&self) -> Result<(), ReadError> {
        let devices = self.traces.len();
        let problem =
            (devices > MOST_DEVICES).then(|| format!("{devices} devices: more than any machine has"));
        refuse(problem, || "the snapshot".to_owned())?;
        self.traces.iter().try_for_each(|trace| check_trace(trace, self.pools.len()))
    }
}

fn check_trace(trace: &Trace, pools: usize) -> Result<(), ReadError> {
    let device = trace.device;
    for (index, event) in trace.events.iter().enumerate() {
        let problem = match event.action {
            Action::Oom => too_large(event.size.max(event.device_free()), MOST_REQUESTED),
            _ => no_range(event.addr, event.size),
        };
        refuse(problem, || format!("device {device}, event {index}"))?;
    }
    for segment in &trace.segments {
        let place = || format!("device {device}, segment {}", segment.addr);
        refuse(no_range(segment.addr, segment.size), place)?;
        for block in &segment.blocks {
            let problem = no_range(block.addr, block.size).or(too_large(block.requested, MOST_MEMORY));
            refuse(problem, || format!("device {device}, block {}", block.addr))?;
        }
    }
    let streams = streams(trace);
    let problem = (streams > usize::from(u16::MAX) || streams * pools > MOST_LISTS)
        .then(|| format!("{streams} streams on {pools} memory pools: more than any job has"));
    refuse(problem, || format!("device {device}"))
}

fn refuse(problem: Option<String>, place: impl Fn() -> String) -> Result<(), ReadError> {
    problem.map_or(Ok(()), |problem| Err(ReadError::Content { place: place(), problem }))
}

fn too_large(size: Bytes, most: Bytes) -> Option<String> {
    (size > most).then(|| format!("{} bytes are more than any device has", size.0))
}

/// Why a device cannot have this range, if it cannot.
fn no_range(addr: Addr, size: Bytes) -> Option<String> {
    let wraps = || addr.0.checked_add(size.0).is_none();
    let end = || format!("{} bytes at {addr} reach beyond the end of the address space", size.0);
    too_large(size, MOST_MEMORY).or_else(|| wraps().then(end))
}

/// How many streams there are.
fn streams(trace: &Trace) -> usize {
    // Most events have the stream of the event before, so few are left after this.
    let runs = trace.events.chunk_by(|a, b| a.stream == b.stream);
    let of_events = runs.filter_map(|run| run.first()).map(|event| event.stream);
    let mut streams: Vec<_> =
        of_events.chain(trace.segments.iter().map(|segment: &Segment| segment.stream)).collect();
    streams.sort_unstable();
    streams.dedup();
    streams.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, PoolId, Stream};

    fn event(action: Action, addr: u64, size: u64, stream: u64) -> Event {
        Event {
            addr: Addr(addr),
            size: Bytes(size),
            stream: Stream(stream),
            time_us: 0,
            stack: None,
            metadata: None,
            pool: None,
            action,
        }
    }

    fn check(events: Vec<Event>, expected: &str) {
        let trace = Trace { events, ..Trace::default() };
        let snapshot = Snapshot { traces: vec![trace], pools: vec![PoolId::DEFAULT], ..Snapshot::default() };
        let shown = snapshot.check().map_or_else(|error| error.to_string(), |()| "plausible".to_owned());
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_no_device_has_is_refused_with_its_place() {
        check(vec![event(Action::Alloc, 512, 1 << 48, 0)], "plausible");
        // Intel's device addresses fill the upper half.
        check(vec![event(Action::SegmentAlloc, 0xff00_0000_0020_0000, 2 << 20, 0)], "plausible");
        check(vec![event(Action::Oom, 1 << 60, 1 << 60, 0)], "plausible");
        check(
            vec![event(Action::Alloc, 0, 1, 0), event(Action::FreeCompleted, 0, (1 << 48) + 1, 0)],
            "device 0, event 1: 281474976710657 bytes are more than any device has",
        );
        check(
            vec![event(Action::Oom, (1 << 60) + 1, 512, 0)],
            "device 0, event 0: 1152921504606846977 bytes are more than any device has",
        );
        check(
            vec![event(Action::Alloc, u64::MAX, 512, 0)],
            "device 0, event 0: 512 bytes at 0xffffffffffffffff reach beyond the end of the address space",
        );
        check(
            (0..70_000).map(|stream| event(Action::Alloc, 0, 512, stream)).collect(),
            "device 0: 70000 streams on 1 memory pools: more than any job has",
        );
    }
}
