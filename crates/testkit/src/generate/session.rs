//! A running job: requests go to the allocator, and a trace records them as PyTorch would.

use std::collections::{BTreeMap, HashMap};

use oomph_engine::simulated::SimulatedDevice;
use oomph_engine::torch::block::{BlockId, OwnerIdx, State, StreamIdx};
use oomph_engine::torch::{Request, Torch};
use oomph_trace::{Action, Addr, Block, BlockState, Bytes, Event, PoolIdx, Segment, StackId, Stream, Trace};

use super::random::Random;
use crate::recorder::{Call, Recorder};

/// An allocation of the job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allocation {
    block: BlockId,
    pub(super) addr: Addr,
    pub(super) size: Bytes,
    stream: u16,
}

/// The allocator, and the trace so far.
pub(super) struct Session {
    pub(super) torch: Torch<Recorder<SimulatedDevice>>,
    pub(super) random: Random,
    pub(super) trace: Trace,
    pub(super) time_us: u64,
    /// What the driver calls free when nothing is held.
    device_free: Bytes,
    names_pools: bool,
    /// Frees that wait, oldest first, with the stack of the free.
    pending: Vec<(Allocation, Option<StackId>)>,
    stacks: HashMap<Addr, Option<StackId>>,
    /// The stream and the stack that made each segment, by address. Unmapped ranges keep their entry.
    made: BTreeMap<Addr, (Stream, Option<StackId>)>,
}

impl Session {
    pub(super) fn new(
        torch: Torch<Recorder<SimulatedDevice>>,
        random: Random,
        device_free: Bytes,
        names_pools: bool,
    ) -> Session {
        Session {
            torch,
            random,
            trace: Trace::default(),
            time_us: 1_794_705_255_000_000,
            device_free,
            names_pools,
            pending: Vec::new(),
            stacks: HashMap::new(),
            made: BTreeMap::new(),
        }
    }

    /// Asks for memory. `None`: the request failed, which is recorded.
    pub(super) fn alloc(&mut self, size: Bytes, stream: u16, stack: Option<StackId>) -> Option<Allocation> {
        // Before every request PyTorch checks which frees are complete.
        while !self.pending.is_empty() && self.random.one_in(3) {
            let (live, at) = self.pending.remove(0);
            self.torch.complete(live.block);
            self.record(Action::FreeCompleted, live.addr, live.size, live.stream, at);
        }
        let retries = self.torch.tally().retries;
        let request = Request { size, stream: StreamIdx(stream), owner: OwnerIdx::DEFAULT };
        let served = self.torch.malloc(request);
        let released = self.torch.tally().retries > retries;
        let calls = self.torch.device_mut().take_calls();
        // A release completes what is pending before it gives anything back.
        let shrinks = |call: &Call| matches!(call.action, Action::SegmentFree | Action::SegmentUnmap);
        let completes_at = released.then(|| calls.iter().position(shrinks).unwrap_or(calls.len()));
        for (index, call) in calls.iter().enumerate() {
            if completes_at == Some(index) {
                self.complete_all();
            }
            self.record_call(call, stream, stack);
        }
        if completes_at.is_some() {
            self.complete_all();
        }
        match served {
            Ok(block) => {
                let addr = self.torch.block(block).addr;
                self.record(Action::Alloc, addr, size, stream, stack);
                self.stacks.insert(addr, stack);
                Some(Allocation { block, addr, size, stream })
            }
            Err(failure) => {
                let free = self.device_free.saturating_sub(self.torch.counters().reserved);
                self.record(Action::Oom, Addr(free.0), failure.size, stream, stack);
                None
            }
        }
    }

    /// Gives memory back that no other stream uses.
    pub(super) fn free(&mut self, live: Allocation, stack: Option<StackId>) {
        self.record(Action::FreeRequested, live.addr, live.size, live.stream, stack);
        self.torch.free(live.block);
        self.record(Action::FreeCompleted, live.addr, live.size, live.stream, stack);
    }

    /// Gives memory back that another stream still uses.
    pub(super) fn free_later(&mut self, live: Allocation, stack: Option<StackId>) {
        self.record(Action::FreeRequested, live.addr, live.size, live.stream, stack);
        self.torch.free_later(live.block);
        self.pending.push((live, stack));
    }

    /// What is held at the end, as a snapshot shows it.
    pub(super) fn final_segments(&self) -> Vec<Segment> {
        let blocks = |segment: &oomph_engine::torch::SegmentView| {
            segment
                .blocks
                .iter()
                .map(|block| Block {
                    addr: block.addr,
                    size: block.size,
                    requested: block.requested,
                    state: match block.state {
                        State::Allocated => BlockState::Allocated,
                        State::PendingFree => BlockState::PendingFree,
                        State::Free | State::Unmapped => BlockState::Free,
                    },
                    stack: match block.state {
                        State::Free | State::Unmapped => None,
                        State::Allocated | State::PendingFree => {
                            self.stacks.get(&block.addr).copied().flatten()
                        }
                    },
                })
                .collect()
        };
        let segments = self.torch.segments();
        segments
            .iter()
            .map(|segment| Segment {
                addr: segment.addr,
                size: segment.size,
                stream: handle(segment.stream.0),
                pool: PoolIdx(0),
                small: segment.small,
                expandable: segment.expandable,
                stack: self.made.get(&segment.addr).and_then(|(_, stack)| *stack),
                blocks: blocks(segment),
            })
            .collect()
    }

    fn complete_all(&mut self) {
        for (live, stack) in std::mem::take(&mut self.pending) {
            self.record(Action::FreeCompleted, live.addr, live.size, live.stream, stack);
        }
    }

    /// Records a call with the stream of its segment. When memory is released, that can differ from the request's.
    fn record_call(&mut self, call: &Call, stream: u16, stack: Option<StackId>) {
        if matches!(call.action, Action::SegmentAlloc | Action::SegmentMap) {
            self.made.insert(call.addr, (handle(stream), stack));
        }
        let owner = self.made.range(..=call.addr).next_back().map(|(_, (stream, _))| *stream);
        self.record(call.action, call.addr, call.size, stream, stack);
        if let (Some(owner), Some(event)) = (owner, self.trace.events.last_mut()) {
            event.stream = owner;
        }
    }

    fn record(&mut self, action: Action, addr: Addr, size: Bytes, stream: u16, stack: Option<StackId>) {
        self.time_us += self.random.between(0, 40);
        self.trace.events.push(Event {
            addr,
            size,
            stream: handle(stream),
            time_us: self.time_us,
            stack,
            metadata: None,
            pool: self.names_pools.then_some(PoolIdx(0)),
            action,
        });
    }
}

/// The handle of the n-th stream. As in CUDA, the default one is 0 and later ones are higher.
fn handle(stream: u16) -> Stream {
    Stream(if stream == 0 { 0 } else { 0x5581_0000_0000 + u64::from(stream) * 0x1a40 })
}
