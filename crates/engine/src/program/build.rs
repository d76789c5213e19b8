//! From a trace to its program, in one pass over the events.

use oomph_trace::{Action, Addr, BlockState, Event, EventIdx, Stream, Trace};
use rustc_hash::FxHashMap;

use super::groups::{self, Group, Meaning};
use super::initial::{EarlyAlloc, Holdings};
use super::ownership::Ownership;
use super::{
    AllocId, Allocation, DriverCall, FailedRequest, Op, OpKind, OpenQuestions, Origin, Program, Source,
    Survey, Unknown, shrinks,
};
use crate::torch::Request;
use crate::torch::block::{OwnerIdx, StreamIdx};

impl Program {
    /// The program behind a trace.
    pub(crate) fn read(source: &Source<'_>) -> Program {
        let Source { trace, survey, .. } = *source;
        let ownership = Ownership::read(source);
        let held = Holdings::before(source, &ownership);
        let (groups, limit) = groups::read(source, held.total());
        let streams = streams(&held, survey);
        let mut builder = Builder {
            trace,
            ownership: &ownership,
            streams: &streams,
            ops: Vec::with_capacity(survey.requests + survey.frees),
            allocations: Vec::with_capacity(survey.requests + survey.requests / 16),
            failures: Vec::new(),
            live: FxHashMap::default(),
            pending: FxHashMap::default(),
            early: Vec::new(),
            frees_complete: survey.frees_complete,
        };
        builder.run(&groups);
        builder.find_early_survivors();

        let Builder { ops, allocations, failures, early, .. } = builder;
        let origin = if early.is_empty() { Origin::Complete } else { Origin::Windowed };
        let start = held.into_start(source, early, &allocations, |stream| rank(&streams, stream));
        let mut unknown = Vec::new();
        if !start.guesses.is_empty() {
            unknown.push(Unknown::SlackBeforeStart(start.guesses.len()));
        }
        if start.outside > 0 {
            unknown.push(Unknown::OutsideSegments(start.outside));
        }
        let releases = groups::ambiguous(source, &groups);
        let Ownership { owners, unowned, .. } = ownership;
        Program {
            ops,
            allocations,
            failures,
            streams,
            owners,
            initial: start.seeds,
            initial_allocs: start.allocs,
            origin,
            driver: driver_calls(source),
            limit,
            unknown,
            open: OpenQuestions { releases, segments: unowned, lengths: start.guesses },
        }
    }
}

/// Every stream, in order of its handle.
fn streams(held: &Holdings, survey: &Survey) -> Vec<Stream> {
    let mut streams: Vec<Stream> = held.streams().chain(survey.streams.iter().copied()).collect();
    streams.sort_unstable();
    streams.dedup();
    streams
}

fn rank(streams: &[Stream], stream: Stream) -> StreamIdx {
    match streams {
        [_] => StreamIdx(0),
        streams => StreamIdx(streams.binary_search(&stream).unwrap_or_default() as u16),
    }
}

fn driver_calls(source: &Source<'_>) -> Vec<DriverCall> {
    let call = |(index, event): (usize, &Event)| {
        let Event { action, addr, size, .. } = *event;
        DriverCall { event: EventIdx(index as u32), action, addr, size }
    };
    source.survey.driver(source.trace).map(call).collect()
}

struct Builder<'a> {
    trace: &'a Trace,
    ownership: &'a Ownership,
    streams: &'a [Stream],
    ops: Vec<Op>,
    allocations: Vec<Allocation>,
    failures: Vec<FailedRequest>,
    /// The allocations that the program has, by address.
    live: FxHashMap<Addr, AllocId>,
    /// Those that it gave back while another stream may still use them.
    pending: FxHashMap<Addr, AllocId>,
    early: Vec<EarlyAlloc>,
    /// Whether the recording has completions at all; if not, a free is complete when it is requested.
    frees_complete: bool,
}

impl Builder<'_> {
    fn run(&mut self, groups: &[Group]) {
        let mut groups = groups.iter().peekable();
        // Completions that a synchronisation under pressure may have caused: those since the last other operation.
        let mut completions = 0;
        let mut index = 0;
        while index < self.trace.events.len() {
            let mut pressed = false;
            while let Some(group) = groups.next_if(|group| group.first <= index) {
                let sole_owner = self.abandon_released_pools(group);
                match group.meaning {
                    Meaning::Growth => {}
                    Meaning::Pressure => {
                        pressed = true;
                        if group.completes {
                            // What completed before the first release was found complete, not waited for.
                            completions = self.complete_within(group);
                        }
                    }
                    Meaning::EmptyCache => {
                        // A call of `empty_cache` releases the default pools too, so where only one private owner's
                        // memory goes, that pool ended.
                        let kind = sole_owner.map_or(OpKind::EmptyCache, OpKind::EmptyPool);
                        self.push(kind, group.last_shrink.unwrap_or(group.first));
                        completions = 0;
                    }
                }
                index = group.end;
            }
            let Some(event) = self.trace.events.get(index) else { break };
            let before = self.ops.len();
            let consumed = self.step(index, event);
            match self.ops.last().filter(|_| self.ops.len() > before).map(|op| op.kind) {
                Some(OpKind::Complete(_)) => completions += 1,
                Some(OpKind::AllocFailed(_)) => self.complete_after(std::mem::take(&mut completions)),
                Some(OpKind::Alloc(_)) if pressed => self.complete_after(std::mem::take(&mut completions)),
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
        self.ops[end - 1 - completions..].rotate_right(1);
        let event = self.ops[end - 1 - completions].event;
        for op in &mut self.ops[end - completions..] {
            op.event = event;
            if let OpKind::Complete(id) = op.kind {
                self.allocations[id.index()].end(event);
            }
        }
    }

    /// Translates one event of the program; gives how many events that took.
    fn step(&mut self, index: usize, event: &Event) -> usize {
        match event.action {
            Action::Alloc => {
                let id = self.allocation(event.addr, self.request(index), Some(index));
                self.live.insert(event.addr, id);
                self.push(OpKind::Alloc(id), index);
            }
            Action::Oom => {
                let request = self.request(index);
                self.push(OpKind::AllocFailed(self.failures.len() as u32), index);
                self.failures.push(FailedRequest { event: EventIdx(index as u32), request });
            }
            Action::FreeRequested => {
                let id = self.live.remove(&event.addr).unwrap_or_else(|| self.early(index, event, false));
                let next = self.trace.events.get(index + 1);
                if next.is_some_and(|next| next.action == Action::FreeCompleted && next.addr == event.addr) {
                    self.push(OpKind::Free(id), index + 1);
                    return 2;
                }
                if self.frees_complete {
                    self.pending.insert(event.addr, id);
                    self.push(OpKind::FreeLater(id), index);
                } else {
                    self.push(OpKind::Free(id), index);
                }
            }
            Action::FreeCompleted => {
                let kind = if let Some(id) = self.pending.remove(&event.addr) {
                    OpKind::Complete(id)
                } else if let Some(id) = self.live.remove(&event.addr) {
                    // The recording skips requests of frees.
                    OpKind::Free(id)
                } else {
                    OpKind::Complete(self.early(index, event, true))
                };
                self.push(kind, index);
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

    /// What the event at `index` asks for, or asked for when it was made.
    fn request(&self, index: usize) -> Request {
        let Event { size, stream, .. } = self.trace.events[index];
        Request { size, stream: rank(self.streams, stream), owner: self.ownership.of_event(index) }
    }

    fn allocation(&mut self, addr: Addr, request: Request, born: Option<usize>) -> AllocId {
        let born = born.map(|index| EventIdx(index as u32));
        self.allocations.push(Allocation::new(request, addr, born));
        AllocId(self.allocations.len() as u32 - 1)
    }

    fn push(&mut self, kind: OpKind, index: usize) {
        let event = EventIdx(index as u32);
        match kind {
            OpKind::Free(id) | OpKind::Complete(id) => self.allocations[id.index()].end(event),
            OpKind::FreeLater(id) => self.allocations[id.index()].free(event),
            _ => {}
        }
        self.ops.push(Op { event, kind });
    }

    /// An allocation that is freed here but was made before the first event.
    fn early(&mut self, index: usize, event: &Event, pending: bool) -> AllocId {
        let id = self.allocation(event.addr, self.request(index), None);
        self.early.push(EarlyAlloc { id, length: None, pending });
        id
    }

    /// A private pool whose segments are given back has no users any more. Gives the one owner of all that is given
    /// back, if there is one and it is not the default owner.
    fn abandon_released_pools(&mut self, group: &Group) -> Option<OwnerIdx> {
        let run = group.first..=group.last_shrink?;
        let released = run.filter(|index| shrinks(self.trace.events[*index].action));
        let mut owners: Vec<OwnerIdx> = released.map(|index| self.ownership.of_event(index)).collect();
        owners.dedup();
        for owner in owners.iter().filter(|owner| **owner != OwnerIdx::DEFAULT) {
            self.push(OpKind::Abandon(*owner), group.first);
        }
        match owners.as_slice() {
            [owner] if *owner != OwnerIdx::DEFAULT => Some(*owner),
            _ => None,
        }
    }

    /// What is active at the end without having been allocated in the trace was there before.
    fn find_early_survivors(&mut self) {
        for segment in &self.trace.segments {
            for block in segment.blocks.iter().filter(|block| block.state != BlockState::Free) {
                let pending = block.state == BlockState::PendingFree;
                let known = if pending { &self.pending } else { &self.live };
                if !known.contains_key(&block.addr) {
                    let (stream, owner) =
                        (rank(self.streams, segment.stream), self.ownership.of_pool(segment.pool));
                    let request = Request { size: block.requested, stream, owner };
                    let id = self.allocation(block.addr, request, None);
                    self.early.push(EarlyAlloc { id, length: Some(block.size), pending });
                }
            }
        }
    }
}
