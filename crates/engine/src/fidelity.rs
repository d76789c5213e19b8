//! The self-check: replaying a recording under its own settings must do, call by call, what was recorded.

use std::fmt;

use oomph_trace::{Action, Addr, BlockState, Bytes, EventIdx, Segment, Stream, Trace};

use crate::counters::Counters;
use crate::device::Device;
use crate::program::{DriverCall, OpKind, Program};
use crate::replay::{Done, Replayed, Run, Setup, Start};
use crate::torch::SegmentView;
use crate::torch::block::State;
use crate::torch::rounding;

/// What one side did where the two part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// Nothing.
    Nothing,
    /// A call of the driver.
    Driver {
        /// Which.
        action: Action,
        /// Where; nothing for a request that only one side made.
        addr: Option<Addr>,
        /// How much.
        size: Bytes,
    },
    /// A request was served here.
    Served(Addr),
    /// A request failed.
    OutOfMemory,
    /// At the end, this is held.
    Final(String),
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Nothing => write!(f, "nothing"),
            Side::Driver { action, addr: Some(addr), size } => {
                write!(f, "{} of {} bytes at {addr}", action.name(), size.0)
            }
            Side::Driver { action, addr: None, size } => write!(f, "{} of {} bytes", action.name(), size.0),
            Side::Served(addr) => write!(f, "served at {addr}"),
            Side::OutOfMemory => write!(f, "out of memory"),
            Side::Final(text) => f.write_str(text),
        }
    }
}

/// The first place where replay and recording part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The event; one past the last where only the final states differ.
    pub event: EventIdx,
    /// What the recording shows.
    pub recorded: Side,
    /// What the replay did.
    pub replayed: Side,
}

impl Divergence {
    /// Whether a higher limit could bring the two together: the replay was refused, or released, what the recording
    /// was granted, or kept. A lower one could, if it is the other way around; `None` where the limit is no part of it.
    pub fn wants_higher_limit(&self) -> Option<bool> {
        let shrinks = |side: &Side| {
            matches!(
                side,
                Side::Driver { action: Action::SegmentFree | Action::SegmentUnmap, .. } | Side::OutOfMemory
            )
        };
        match (shrinks(&self.recorded), shrinks(&self.replayed)) {
            (true, false) => Some(false),
            (false, true) => Some(true),
            _ => None,
        }
    }
}

/// What the self-check found.
#[derive(Clone, Debug)]
pub struct Fidelity {
    /// The first divergence; `None`: exact.
    pub divergence: Option<Divergence>,
    /// The replay up to there.
    pub replayed: Replayed,
    /// What was held at the end, or where the two parted.
    pub last: Counters,
}

/// Replays `program` with the recorded addresses and compares every driver call, every placement, every failure and
/// the final segments, block by block.
pub fn check(trace: &Trace, program: &Program, setup: &Setup) -> Fidelity {
    let device = RecordedDevice {
        calls: &program.driver,
        next: 0,
        until: EventIdx(0),
        setup,
        held: Bytes::ZERO,
        parted: None,
    };
    let mut run = Run::new(program, setup, device, Start::AsRecorded);
    let seeded = run.torch().counters().reserved;
    run.torch_mut().device_mut().held = seeded;
    let divergence = run_checked(trace, program, &mut run);
    Fidelity { divergence, replayed: run.result(), last: *run.torch().counters() }
}

fn run_checked(
    trace: &Trace,
    program: &Program,
    run: &mut Run<'_, RecordedDevice<'_>>,
) -> Option<Divergence> {
    while let Some(next) = run.peek() {
        run.torch_mut().device_mut().until = next.event;
        let (op, done) = run.step()?;
        if op.kind == OpKind::Abandon {
            // It calls nothing itself; the release it was seen from follows.
            continue;
        }
        if let Some(mut parted) = run.torch_mut().device_mut().parted(op.event) {
            if let (Side::Nothing, Done::Served(block)) = (&parted.replayed, done) {
                parted.replayed = Side::Served(run.torch().block(block).addr);
            }
            return Some(parted);
        }
        let event = op.event;
        let parted = |recorded, replayed| Some(Divergence { event, recorded, replayed });
        match (op.kind, done) {
            (OpKind::Alloc, Done::Served(block)) => {
                let (recorded, replayed) = (trace.events[event.index()].addr, run.torch().block(block).addr);
                if recorded != replayed {
                    return parted(Side::Served(recorded), Side::Served(replayed));
                }
            }
            (OpKind::Alloc, _) => {
                return parted(Side::Served(trace.events[event.index()].addr), Side::OutOfMemory);
            }
            (OpKind::AllocFailed, Done::Served(block)) => {
                return parted(Side::OutOfMemory, Side::Served(run.torch().block(block).addr));
            }
            _ => {}
        }
    }
    let end = EventIdx(trace.events.len() as u32);
    run.torch_mut().device_mut().parted(end).or_else(|| {
        let (recorded, replayed) = final_difference(trace, program, &run.torch().segments())?;
        Some(Divergence { event: end, recorded: Side::Final(recorded), replayed: Side::Final(replayed) })
    })
}

/// The first segment or block in which the final states differ, as each side shows it.
fn final_difference(trace: &Trace, program: &Program, replayed: &[SegmentView]) -> Option<(String, String)> {
    let recorded = trace.segments.iter().map(recorded_lines);
    let replayed = replayed.iter().map(|segment| replayed_lines(segment, program));
    let (mut recorded, mut replayed) = (recorded.flatten(), replayed.flatten());
    loop {
        let nothing = || "nothing".to_owned();
        match (recorded.next(), replayed.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => return Some((a.unwrap_or_else(nothing), b.unwrap_or_else(nothing))),
        }
    }
}

/// A recorded segment and its blocks, a line each.
fn recorded_lines(segment: &Segment) -> Vec<String> {
    let head = segment_line(segment.small, segment.size, segment.addr, segment.stream, segment.expandable);
    let blocks = segment.blocks.iter().map(|block| {
        let state = match block.state {
            BlockState::Allocated => "allocated",
            BlockState::PendingFree => "pending",
            BlockState::Free => "free",
        };
        block_line(state, block.size, block.requested, block.addr)
    });
    std::iter::once(head).chain(blocks).collect()
}

/// The same of a replayed segment.
fn replayed_lines(segment: &SegmentView, program: &Program) -> Vec<String> {
    let stream = program.streams[usize::from(segment.stream.0)];
    let head = segment_line(segment.small, segment.size, segment.addr, stream, segment.expandable);
    let blocks = segment.blocks.iter().map(|block| {
        let state = match block.state {
            State::Allocated => "allocated",
            State::PendingFree => "pending",
            State::Free | State::Unmapped => "free",
        };
        block_line(state, block.size, block.requested, block.addr)
    });
    std::iter::once(head).chain(blocks).collect()
}

fn segment_line(small: bool, size: Bytes, addr: Addr, stream: Stream, expandable: bool) -> String {
    let class = if small { "small" } else { "large" };
    let backing = if expandable { ", expandable" } else { "" };
    format!("{class} segment of {} bytes at {addr} on stream {}{backing}", size.0, stream.0)
}

/// What a free block was last asked for is stale, so it is not compared.
fn block_line(state: &str, size: Bytes, requested: Bytes, addr: Addr) -> String {
    let requested = if state == "free" { 0 } else { requested.0 };
    format!("{state} block of {} bytes for {requested} at {addr}", size.0)
}

/// A device that gives the addresses of the recording, and notes the first call that is not the recorded one.
#[derive(Clone, Debug)]
struct RecordedDevice<'a> {
    calls: &'a [DriverCall],
    next: usize,
    /// The event of the operation under way; later calls are not its.
    until: EventIdx,
    setup: &'a Setup,
    held: Bytes,
    parted: Option<(Side, Side)>,
}

impl RecordedDevice<'_> {
    fn expected(&self) -> Option<&DriverCall> {
        self.calls.get(self.next).filter(|call| call.event <= self.until)
    }

    /// Compares a call with the recorded one and moves on.
    fn follow(&mut self, action: Action, addr: Option<Addr>, size: Bytes) -> Option<Addr> {
        if self.parted.is_some() {
            return addr;
        }
        let replayed = Side::Driver { action, addr, size };
        match self.expected().copied() {
            Some(call)
                if call.action == action
                    && call.size == size
                    && addr.is_none_or(|addr| addr == call.addr) =>
            {
                self.next += 1;
                Some(call.addr)
            }
            call => {
                let recorded = call.map_or(Side::Nothing, |call| Side::Driver {
                    action: call.action,
                    addr: Some(call.addr),
                    size: call.size,
                });
                self.parted = Some((recorded, replayed));
                // Far from every recorded address; the replay ends with this operation.
                addr.or(Some(Addr(1 << 62)))
            }
        }
    }

    fn has_room(&self, size: Bytes) -> bool {
        self.held + size <= self.setup.capacity.unwrap_or(rounding::ABSURD)
    }

    /// What parted during the operation that ended at `event`, calls that were not made included.
    fn parted(&mut self, event: EventIdx) -> Option<Divergence> {
        let missed = self.calls.get(self.next).filter(|call| call.event <= event).map(|call| {
            let recorded = Side::Driver { action: call.action, addr: Some(call.addr), size: call.size };
            (recorded, Side::Nothing)
        });
        let (recorded, replayed) = self.parted.take().or(missed)?;
        let at = self.calls.get(self.next).map_or(event, |call| call.event.min(event));
        Some(Divergence { event: at, recorded, replayed })
    }
}

impl Device for RecordedDevice<'_> {
    fn malloc(&mut self, size: Bytes) -> Option<Addr> {
        if !self.has_room(size) {
            return None;
        }
        self.held += size;
        self.follow(Action::SegmentAlloc, None, size)
    }

    fn free(&mut self, addr: Addr, size: Bytes) {
        self.held -= size;
        self.follow(Action::SegmentFree, Some(addr), size);
    }

    fn reserve(&mut self, _size: Bytes) -> Option<Addr> {
        // A segment is reserved to be mapped from its start at once, which is recorded.
        Some(
            self.expected()
                .filter(|call| call.action == Action::SegmentMap)
                .map_or(Addr(1 << 62), |call| call.addr),
        )
    }

    fn unreserve(&mut self, _addr: Addr, _size: Bytes) {}

    fn map(&mut self, addr: Addr, size: Bytes) -> bool {
        if !self.has_room(size) {
            return false;
        }
        self.held += size;
        self.follow(Action::SegmentMap, Some(addr), size);
        true
    }

    fn unmap(&mut self, addr: Addr, size: Bytes) {
        self.held -= size;
        self.follow(Action::SegmentUnmap, Some(addr), size);
    }

    fn total(&self) -> Bytes {
        // Reserved address space must hold whatever the recording maps; the true total is not recorded.
        Bytes::gib(256)
    }
}
