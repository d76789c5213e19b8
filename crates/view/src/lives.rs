//! From when until when each allocation had a block, and each piece of memory was held from the driver.
//!
//! Time is counted in slots: slot `e` is what holds right after event `e`. What was there before the first event lives
//! from slot 0; what is there at the end lives to the last slot's end.

use std::collections::{BTreeMap, BTreeSet};

use oomph_engine::program::{AllocId, OpKind, Program};
use oomph_engine::recording::{Likely, Recording};
use oomph_engine::replay::{Effect, Outcome, Run, Setup, Start, simulated_device};
use oomph_engine::torch::SegmentView;
use oomph_engine::torch::block::{OwnerIdx, StreamIdx};
use oomph_engine::torch::rounding::SMALL_LIMIT;
use oomph_trace::{Action, Addr, Bytes, EventIdx};

use crate::watched::{Call, Watched};

/// The block of one allocation, in the slots `from..to`. One that never had a block has an empty life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// The first slot.
    pub from: u32,
    /// The slot after the last.
    pub to: u32,
    /// Where the block begins.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// What was asked for.
    pub requested: Bytes,
}

impl Life {
    /// Whether it has a block in this slot.
    pub fn holds(&self, slot: u32) -> bool {
        self.from <= slot && slot < self.to
    }
}

/// Memory held from the driver: a segment, or mapped pages of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first slot.
    pub from: u32,
    /// The slot after the last.
    pub to: u32,
    /// Where it begins.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// The stream it serves.
    pub stream: StreamIdx,
    /// The owner of its pool.
    pub owner: OwnerIdx,
    /// Whether it serves requests of up to 1 MiB.
    pub small: bool,
    /// Whether it is pages of an expandable segment.
    pub pages: bool,
}

/// A birth or a death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The slot from which on it counts.
    pub slot: u32,
    /// The allocation.
    pub id: AllocId,
    /// Whether its block is taken; else it is given back.
    pub born: bool,
}

/// A request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The event.
    pub event: EventIdx,
    /// What was needed.
    pub size: Bytes,
    /// The stream it was for.
    pub stream: StreamIdx,
    /// The owner of its pool.
    pub owner: OwnerIdx,
}

/// One whole replay.
#[derive(Clone, Debug)]
pub struct Lives {
    /// How many slots there are; at least one.
    pub slots: u32,
    /// By the id of the allocation.
    pub of: Vec<Life>,
    /// Births and deaths in order; what was there at the start is born in slot 0.
    pub turns: Vec<Turn>,
    /// What was held, in order of its beginning, then of its address.
    pub extents: Vec<Extent>,
    /// Requests that failed in this replay.
    pub failed: Vec<Failed>,
    /// The events of requests for which the whole cache was released.
    pub retries: Vec<EventIdx>,
    /// How it ended.
    pub outcome: Outcome,
    /// The slot from which on nothing is replayed: the job would have died before it. `slots` where it did not.
    pub end: u32,
}

/// The recording as it was: a replay under its own settings.
pub fn recorded(recording: &Recording) -> Lives {
    let events = recording.trace().events.len();
    replayed(&recording.program, &recording.setup, Start::AsRecorded, events, recording.is_exact())
}

/// The same before the recording is checked: where it turns out to be what was likely.
pub fn likely(likely: &Likely) -> Lives {
    replayed(&likely.program, &likely.setup, Start::AsRecorded, likely.events, true)
}

/// Replays a program of so many events. `as_recorded`: the replay makes the recorded calls of the driver, so what it maps is
/// shown at the recorded addresses.
pub fn replayed(program: &Program, setup: &Setup, start: Start, events: usize, as_recorded: bool) -> Lives {
    let slots = (events as u32).max(1);
    let maps = program.driver.iter().filter(|call| as_recorded && call.action == Action::SegmentMap);
    let device = Watched::new(simulated_device(program, setup, start), maps.map(|call| call.addr));
    let mut run = Run::new(program, setup, device, start);
    let mut book = Book::new(program.allocations.len(), slots);
    book.begin(&mut run);
    while let Some((op, effect)) = run.step() {
        let slot = op.event.0.min(slots - 1);
        let request = program.request(op);
        let calls = std::mem::take(&mut run.device_mut().calls);
        for call in &calls {
            let (stream, owner) = request.map_or_else(Default::default, |asked| (asked.stream, asked.owner));
            let small = request.is_some_and(|asked| asked.size <= SMALL_LIMIT);
            book.called(call, slot, stream, owner, small);
        }
        match (op.kind, effect) {
            (OpKind::Alloc(id), Effect::Served(_)) => book.birth(id, slot, &run),
            (OpKind::Free(id) | OpKind::Complete(id), _) => book.death(id, slot),
            (OpKind::FreeLater(id), _) if run.block(id).is_some() => {
                book.pending.insert(id);
            }
            _ => {}
        }
        book.completed(slot, &run);
        if run.torch().tally().retries > book.retried {
            book.retried = run.torch().tally().retries;
            book.lives.retries.push(op.event);
        }
        if let Effect::Failed(failure) = effect {
            let asked = request.map_or_else(Default::default, |asked| (asked.stream, asked.owner));
            let failed = Failed { event: op.event, size: failure.size, stream: asked.0, owner: asked.1 };
            book.lives.failed.push(failed);
            if run.outcome().died.is_some() {
                book.lives.end = (slot + 1).min(slots);
                break;
            }
        }
    }
    book.lives.outcome = run.outcome();
    book.finish()
}

/// What is known so far.
struct Book {
    lives: Lives,
    held: BTreeMap<Addr, Extent>,
    pending: BTreeSet<AllocId>,
    retried: u64,
}

impl Book {
    fn new(allocations: usize, slots: u32) -> Book {
        let outcome = Outcome { peaks: Default::default(), tally: Default::default(), died: None };
        let lives = Lives {
            slots,
            of: vec![Life::default(); allocations],
            turns: Vec::with_capacity(allocations * 2),
            extents: Vec::new(),
            failed: Vec::new(),
            retries: Vec::new(),
            outcome,
            end: slots,
        };
        Book { lives, held: BTreeMap::new(), pending: BTreeSet::new(), retried: 0 }
    }

    /// What is there before the first operation.
    fn begin(&mut self, run: &mut Run<'_, Watched>) {
        run.device_mut().calls.clear();
        for SegmentView { addr, size, stream, owner, small, expandable, .. } in run.torch().segments() {
            let addr = run.torch().device().shown(addr);
            let extent = Extent { from: 0, to: 0, addr, size, stream, owner, small, pages: expandable };
            self.held.insert(addr, extent);
        }
        let early: Vec<AllocId> = run.live().map(|(id, ..)| id).collect();
        for id in early {
            self.birth(id, 0, run);
            self.pending.insert(id);
        }
        // Those whose free does not wait leave the set by themselves.
        self.pending.retain(|id| {
            run.block(*id).is_some_and(|block| block.state == oomph_engine::torch::block::State::PendingFree)
        });
        self.retried = run.torch().tally().retries;
    }

    fn birth(&mut self, id: AllocId, slot: u32, run: &Run<'_, Watched>) {
        let Some(block) = run.block(id) else { return };
        let (addr, size, requested) = (run.torch().device().shown(block.addr), block.size, block.requested);
        self.lives.of[id.index()] = Life { from: slot, to: u32::MAX, addr, size, requested };
        self.lives.turns.push(Turn { slot, id, born: true });
    }

    fn death(&mut self, id: AllocId, slot: u32) {
        let life = &mut self.lives.of[id.index()];
        if life.to == u32::MAX {
            life.to = slot;
            self.lives.turns.push(Turn { slot, id, born: false });
        }
        self.pending.remove(&id);
    }

    /// A release ends waits before the recording says so.
    fn completed(&mut self, slot: u32, run: &Run<'_, Watched>) {
        if run.torch().pending() == self.pending.len() {
            return;
        }
        let gone: Vec<AllocId> = self.pending.iter().copied().filter(|id| run.block(*id).is_none()).collect();
        gone.into_iter().for_each(|id| self.death(id, slot));
    }

    fn called(&mut self, call: &Call, slot: u32, stream: StreamIdx, owner: OwnerIdx, small: bool) {
        let Call { gives, pages, addr, size } = *call;
        if gives {
            let extent = Extent { from: slot, to: 0, addr, size, stream, owner, small, pages };
            self.held.insert(addr, extent);
            return;
        }
        let end = addr.offset(size);
        let touched: Vec<Addr> = self
            .held
            .range(..end)
            .rev()
            .take_while(|(at, extent)| at.offset(extent.size) > addr)
            .map(|(at, _)| *at)
            .collect();
        for at in touched {
            let Some(extent) = self.held.remove(&at) else { continue };
            let close = extent.addr.offset(extent.size);
            // Pages may go from the middle of what was mapped at once.
            let parts = [(extent.addr, addr.min(close)), (end.max(extent.addr), close)];
            for (from, to) in parts {
                if let Some(size) = to.distance_from(from).filter(|size| *size > Bytes::ZERO) {
                    self.held.insert(from, Extent { addr: from, size, ..extent });
                }
            }
            let (from, to) = (extent.addr.max(addr), close.min(end));
            let size = to.distance_from(from).unwrap_or_default();
            self.lives.extents.push(Extent { addr: from, size, to: slot, ..extent });
        }
    }

    fn finish(mut self) -> Lives {
        let end = self.lives.end;
        for (id, life) in (0..).map(AllocId).zip(&mut self.lives.of).filter(|(_, life)| life.to == u32::MAX) {
            life.to = end;
            // A job that has died holds nothing.
            if end < self.lives.slots {
                self.lives.turns.push(Turn { slot: end, id, born: false });
            }
        }
        let rest = self.held.into_values().map(|extent| Extent { to: end, ..extent });
        self.lives.extents.extend(rest);
        self.lives.extents.retain(|extent| extent.from < extent.to);
        self.lives.extents.sort_by_key(|extent| (extent.from, extent.addr));
        self.lives
    }
}
