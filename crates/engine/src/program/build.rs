//! From a trace to its program, in one pass over the events.

use oomph_trace::{Action, Addr, BlockState, Bytes, Event, EventIdx, Snapshot, Stream, Trace};
use rustc_hash::FxHashMap;

use super::groups::{self, Group, Meaning};
use super::initial::{self, EarlyAlloc, Held};
use super::ownership::{self, Ownership};
use super::{AllocId, Assumptions, DriverCall, Op, OpKind, OpenQuestions, Origin, Program, Unknown};
use crate::torch::block::{OwnerIdx, StreamIdx};
use crate::torch::options::Options;
use crate::torch::profile::Profile;

impl Program {
    /// The program behind `trace`, one of the snapshot's, which ran under these settings; `assumptions` decide where
    /// it can be read in more than one way.
    pub fn of(
        snapshot: &Snapshot,
        trace: &Trace,
        options: &Options,
        profile: &Profile,
        assumptions: &Assumptions,
    ) -> Program {
        let ownership = ownership::read(snapshot, trace, profile.pool_scope_blocks_release, assumptions);
        let held = Held::before(snapshot, trace, &ownership);
        let (groups, limit) = groups::read(snapshot, trace, held.total(), options, profile, assumptions);
        let streams = streams(&held, trace);
        let mut builder = Builder {
            trace,
            ownership: &ownership,
            streams: &streams,
            ops: Vec::with_capacity(trace.events.len() * 2 / 3),
            live: FxHashMap::default(),
            pending: FxHashMap::default(),
            early: Vec::new(),
            allocs: 0,
            frees_complete: trace.events.iter().any(|event| event.action == Action::FreeCompleted),
        };
        builder.run(&groups);
        builder.find_early_survivors();

        let Builder { ops, early, allocs, .. } = builder;
        let origin = if early.is_empty() { Origin::Complete } else { Origin::Windowed };
        let rank = |stream| StreamIdx(streams.binary_search(&stream).unwrap_or_default() as u16);
        let (initial, initial_allocs, lengths, outside) =
            held.into_seeds(trace, early, rank, options, profile, assumptions);
        let mut unknown = Vec::new();
        if !lengths.is_empty() {
            unknown.push(Unknown::SlackBeforeStart { blocks: lengths.len() });
        }
        if outside > 0 {
            unknown.push(Unknown::OutsideSegments { events: outside });
        }
        let driver = driver_calls(trace);
        let releases = groups::ambiguous(trace, &groups);
        let Ownership { owners, unowned, .. } = ownership;
        let open = OpenQuestions { releases, segments: unowned, lengths };
        Program {
            ops,
            allocs,
            streams,
            owners,
            initial,
            initial_allocs,
            origin,
            driver,
            limit,
            unknown,
            open,
        }
    }
}

/// Every stream, in order of its handle.
fn streams(held: &Held, trace: &Trace) -> Vec<Stream> {
    let mut streams: Vec<Stream> = held.streams().collect();
    // Neighbours mostly share theirs; what is left after this is short.
    let runs = trace.events.chunk_by(|a, b| a.stream == b.stream);
    streams.extend(runs.filter_map(|run| run.first()).map(|event| event.stream));
    streams.sort_unstable();
    streams.dedup();
    streams
}

fn driver_calls(trace: &Trace) -> Vec<DriverCall> {
    let calls = trace.events.iter().enumerate().filter(|(_, event)| event.action.is_driver_call());
    calls
        .map(|(index, event)| DriverCall {
            event: EventIdx(index as u32),
            action: event.action,
            addr: event.addr,
            size: event.size,
        })
        .collect()
}

struct Builder<'a> {
    trace: &'a Trace,
    ownership: &'a Ownership,
    streams: &'a [Stream],
    ops: Vec<Op>,
    live: FxHashMap<Addr, AllocId>,
    pending: FxHashMap<Addr, AllocId>,
    early: Vec<EarlyAlloc>,
    allocs: u32,
    /// Whether the recording has completions at all; if not, a free is complete when it is requested.
    frees_complete: bool,
}

impl Builder<'_> {
    fn run(&mut self, groups: &[(Group, Meaning)]) {
        let mut groups = groups.iter().peekable();
        // Completions that a synchronisation under pressure may have caused: those since the last other operation.
        let mut completions = 0;
        let mut index = 0;
        while index < self.trace.events.len() {
            let mut pressed = false;
            while let Some((group, meaning)) = groups.next_if(|(group, _)| group.first <= index) {
                let sole_owner = self.abandon_released_pools(group);
                let at = group.last_shrink.unwrap_or(group.first);
                match (meaning, sole_owner) {
                    (Meaning::Growth, _) => {}
                    (Meaning::Pressure, _) => {
                        pressed = true;
                        if group.completes {
                            // What completed before the first release was found complete, not waited for.
                            completions = self.complete_within(group);
                        }
                    }
                    (Meaning::EmptyCache, None) => {
                        self.push(OpKind::EmptyCache, AllocId(0), at, Bytes::ZERO);
                        completions = 0;
                    }
                    // Had the whole cache been emptied, others would have gone as well, or had nothing to give.
                    (Meaning::EmptyCache, Some(owner)) => {
                        self.push_for(OpKind::EmptyPool, owner, at);
                        completions = 0;
                    }
                }
                index = group.end;
            }
            let Some(event) = self.trace.events.get(index) else { break };
            let before = self.ops.len();
            let consumed = self.step(index, event);
            match self.ops.last().filter(|_| self.ops.len() > before).map(|op| op.kind) {
                Some(OpKind::Complete) => completions += 1,
                Some(OpKind::AllocFailed) => self.complete_after(std::mem::take(&mut completions)),
                Some(OpKind::Alloc) if pressed => self.complete_after(std::mem::take(&mut completions)),
                Some(_) => completions = 0,
                None => {}
            }
            index += consumed;
        }
    }

    /// Translates the completions within a run of driver calls; gives how many there are.
    fn complete_within(&mut self, group: &Group) -> usize {
        let before = self.ops.len();
        for index in group.first..group.end {
            let event = &self.trace.events[index];
            if event.action == Action::FreeCompleted {
                self.step(index, event);
            }
        }
        self.ops.len() - before
    }

    /// Moves the last operation, a request, before the `completions` that precede it: the synchronisation that
    /// completed them came after the search of the cache.
    fn complete_after(&mut self, completions: usize) {
        let end = self.ops.len();
        self.ops[end - 1 - completions..end].rotate_right(1);
        let event = self.ops[end - 1 - completions].event;
        for op in &mut self.ops[end - completions..] {
            op.event = event;
        }
    }

    /// Translates one event of the program; gives how many events that took.
    fn step(&mut self, index: usize, event: &Event) -> usize {
        match event.action {
            Action::Alloc => {
                let alloc = self.next_alloc();
                self.live.insert(event.addr, alloc);
                self.push(OpKind::Alloc, alloc, index, event.size);
            }
            Action::Oom => {
                let alloc = self.next_alloc();
                self.push(OpKind::AllocFailed, alloc, index, event.size);
            }
            Action::FreeRequested => {
                let alloc = self.live.remove(&event.addr).unwrap_or_else(|| self.early(index, event, false));
                let next = self.trace.events.get(index + 1);
                let completes =
                    |next: &Event| next.action == Action::FreeCompleted && next.addr == event.addr;
                if next.is_some_and(completes) {
                    self.push(OpKind::Free, alloc, index + 1, Bytes::ZERO);
                    return 2;
                }
                if self.frees_complete {
                    self.pending.insert(event.addr, alloc);
                    self.push(OpKind::FreeLater, alloc, index, Bytes::ZERO);
                } else {
                    self.push(OpKind::Free, alloc, index, Bytes::ZERO);
                }
            }
            Action::FreeCompleted => {
                if let Some(alloc) = self.pending.remove(&event.addr) {
                    self.push(OpKind::Complete, alloc, index, Bytes::ZERO);
                } else if let Some(alloc) = self.live.remove(&event.addr) {
                    // The recording skips requests of frees.
                    self.push(OpKind::Free, alloc, index, Bytes::ZERO);
                } else {
                    let alloc = self.early(index, event, true);
                    self.push(OpKind::Complete, alloc, index, Bytes::ZERO);
                }
            }
            Action::SegmentAlloc
            | Action::SegmentFree
            | Action::SegmentMap
            | Action::SegmentUnmap
            | Action::Snapshot
            | Action::Annotate => {}
        }
        1
    }

    fn next_alloc(&mut self) -> AllocId {
        let alloc = AllocId(self.allocs);
        self.allocs += 1;
        alloc
    }

    fn push(&mut self, kind: OpKind, alloc: AllocId, index: usize, size: Bytes) {
        let stream = self.trace.events[index].stream;
        let rank = match self.streams {
            [_] => 0,
            streams => streams.binary_search(&stream).unwrap_or_default(),
        };
        let owner = self.ownership.of_event(index);
        let event = EventIdx(index as u32);
        self.ops.push(Op { size, event, alloc, stream: StreamIdx(rank as u16), owner, kind });
    }

    /// An allocation that is freed here but was made before the first event.
    fn early(&mut self, index: usize, event: &Event, pending: bool) -> AllocId {
        let alloc = self.next_alloc();
        let (addr, requested) = (event.addr, event.size);
        self.early.push(EarlyAlloc { alloc, addr, requested, size: None, pending, freed_at: index });
        alloc
    }

    /// A private pool whose segments are given back has no users any more. Gives the one owner of all that is given
    /// back, if it is one.
    fn abandon_released_pools(&mut self, group: &Group) -> Option<OwnerIdx> {
        let last = group.last_shrink?;
        let mut owners: Vec<OwnerIdx> = Vec::new();
        for index in group.first..=last {
            let owner = self.ownership.of_event(index);
            let shrinks =
                matches!(self.trace.events[index].action, Action::SegmentFree | Action::SegmentUnmap);
            if shrinks && owners.last() != Some(&owner) {
                owners.push(owner);
            }
        }
        for owner in owners.iter().filter(|owner| **owner != OwnerIdx::DEFAULT) {
            self.push_for(OpKind::Abandon, *owner, group.first);
        }
        match owners.as_slice() {
            [owner] if *owner != OwnerIdx::DEFAULT => Some(*owner),
            _ => None,
        }
    }

    /// An operation that is about an owner rather than an allocation.
    fn push_for(&mut self, kind: OpKind, owner: OwnerIdx, index: usize) {
        self.push(kind, AllocId(0), index, Bytes::ZERO);
        if let Some(op) = self.ops.last_mut() {
            op.owner = owner;
        }
    }

    /// What is active at the end without having been allocated in the trace was there before.
    fn find_early_survivors(&mut self) {
        for block in initial::active_blocks(self.trace) {
            let pending = block.state == BlockState::PendingFree;
            let known = if pending { &self.pending } else { &self.live };
            if !known.contains_key(&block.addr) {
                let alloc = AllocId(self.allocs);
                self.allocs += 1;
                let (addr, requested, size) = (block.addr, block.requested, Some(block.size));
                let freed_at = self.trace.events.len();
                self.early.push(EarlyAlloc { alloc, addr, requested, size, pending, freed_at });
            }
        }
    }
}
