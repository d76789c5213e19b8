//! The self-check: replaying a recording under its own settings must do, call by call, what was recorded.

use std::fmt;

use oomph_trace::{Action, Addr, BlockState, Bytes, EventIdx, Segment, Stream, Trace};

use crate::counters::Counters;
use crate::device::Device;
use crate::program::{DriverCall, OpKind, Program, shrinks};
use crate::replay::{Effect, Outcome, Run, Setup, Start};
use crate::torch::block::State;
use crate::torch::{SegmentView, rounding};

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

impl Side {
    fn of(call: DriverCall) -> Side {
        Side::Driver { action: call.action, addr: Some(call.addr), size: call.size }
    }
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
    /// Which limit could bring the two together: a higher one (true) where the replay lacked memory that the recording
    /// had, a lower one (false) where it is the other way around; `None` where the limit makes no difference.
    pub fn wants_higher_limit(&self) -> Option<bool> {
        let lacks_memory = |side: &Side| match side {
            Side::Driver { action, .. } => shrinks(*action),
            Side::OutOfMemory => true,
            Side::Nothing | Side::Served(_) | Side::Final(_) => false,
        };
        match (lacks_memory(&self.recorded), lacks_memory(&self.replayed)) {
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
    pub replayed: Outcome,
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
    let seeded = run.torch.counters().reserved;
    run.torch.device_mut().held = seeded;
    let divergence = run_checked(trace, program, &mut run);
    Fidelity { divergence, replayed: run.outcome(), last: *run.torch.counters() }
}

fn run_checked(
    trace: &Trace,
    program: &Program,
    run: &mut Run<'_, RecordedDevice<'_>>,
) -> Option<Divergence> {
    while let Some(next) = run.peek() {
        run.torch.device_mut().until = next.event;
        let (op, effect) = run.step()?;
        if matches!(op.kind, OpKind::Abandon(_)) {
            // It calls nothing itself; the release it was seen from follows.
            continue;
        }
        let served = match effect {
            Effect::Served(block) => Side::Served(run.torch.block(block).addr),
            Effect::Failed(_) => Side::OutOfMemory,
            Effect::Other => Side::Nothing,
        };
        if let Some(mut parted) = run.torch.device_mut().parted(op.event) {
            if let (Side::Nothing, Side::Served(_)) = (&parted.replayed, &served) {
                parted.replayed = served;
            }
            return Some(parted);
        }
        let recorded = match op.kind {
            OpKind::Alloc(id) => Side::Served(program.allocations[id.index()].addr),
            OpKind::AllocFailed(_) => Side::OutOfMemory,
            _ => continue,
        };
        if recorded != served {
            return Some(Divergence { event: op.event, recorded, replayed: served });
        }
    }
    let end = EventIdx(trace.events.len() as u32);
    run.torch.device_mut().parted(end).or_else(|| {
        let (recorded, replayed) = final_difference(trace, program, &run.torch.segments())?;
        Some(Divergence { event: end, recorded: Side::Final(recorded), replayed: Side::Final(replayed) })
    })
}

/// The first segment or block in which the final states differ, as each side shows it.
fn final_difference(trace: &Trace, program: &Program, replayed: &[SegmentView]) -> Option<(String, String)> {
    let mut recorded = trace.segments.iter().flat_map(|segment| {
        let blocks = segment.blocks.iter().map(|block| {
            let state = match block.state {
                BlockState::Allocated => State::Allocated,
                BlockState::PendingFree => State::PendingFree,
                BlockState::Free => State::Free,
            };
            block_line(state, block.size, block.requested, block.addr)
        });
        let Segment { small, size, addr, stream, expandable, .. } = *segment;
        std::iter::once(segment_line(small, size, addr, stream, expandable)).chain(blocks)
    });
    let mut replayed = replayed.iter().flat_map(|segment| {
        let blocks = segment.blocks.iter();
        let blocks = blocks.map(|block| block_line(block.state, block.size, block.requested, block.addr));
        let SegmentView { small, size, addr, expandable, .. } = *segment;
        let stream = program.streams[usize::from(segment.stream.0)];
        std::iter::once(segment_line(small, size, addr, stream, expandable)).chain(blocks)
    });
    loop {
        let (a, b) = (recorded.next(), replayed.next());
        if a != b {
            let shown = |line: Option<String>| line.unwrap_or_else(|| "nothing".to_owned());
            return Some((shown(a), shown(b)));
        }
        a?;
    }
}

fn segment_line(small: bool, size: Bytes, addr: Addr, stream: Stream, expandable: bool) -> String {
    let class = if small { "small" } else { "large" };
    let backing = if expandable { ", expandable" } else { "" };
    format!("{class} segment of {} bytes at {addr} on stream {}{backing}", size.0, stream.0)
}

fn block_line(state: State, size: Bytes, requested: Bytes, addr: Addr) -> String {
    let (state, requested) = match state {
        State::Allocated => ("allocated", requested.0),
        State::PendingFree => ("pending", requested.0),
        // What a free block was last asked for is stale, so it is not compared.
        State::Free | State::Unmapped => ("free", 0),
    };
    format!("{state} block of {} bytes for {requested} at {addr}", size.0)
}

/// Far from every recorded address, for a call that was not recorded; the replay ends with the operation that made it.
const NOWHERE: Addr = Addr(1 << 62);

/// A device that gives the addresses of the recording, and notes the first call that is not the recorded one.
#[derive(Clone, Debug)]
struct RecordedDevice<'a> {
    calls: &'a [DriverCall],
    next: usize,
    /// The event of the operation under way; later calls belong to later operations.
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
        let call = self.expected().copied();
        let same = |call: &DriverCall| {
            call.action == action && call.size == size && addr.is_none_or(|addr| addr == call.addr)
        };
        if let Some(call) = call.filter(same) {
            self.next += 1;
            return Some(call.addr);
        }
        self.parted = Some((call.map_or(Side::Nothing, Side::of), replayed));
        addr.or(Some(NOWHERE))
    }

    fn has_room(&self, size: Bytes) -> bool {
        self.held + size <= self.setup.capacity.unwrap_or(rounding::ABSURD)
    }

    /// What parted during the operation that ended at `event`, calls that were not made included.
    fn parted(&mut self, event: EventIdx) -> Option<Divergence> {
        let next = self.calls.get(self.next).copied();
        let missed = next.filter(|call| call.event <= event).map(|call| (Side::of(call), Side::Nothing));
        let (recorded, replayed) = self.parted.take().or(missed)?;
        let at = next.map_or(event, |call| call.event.min(event));
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
        // Pages are mapped at the start of a reserved segment right away, and that is recorded.
        let mapping = self.expected().filter(|call| call.action == Action::SegmentMap);
        Some(mapping.map_or(NOWHERE, |call| call.addr))
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
