//! Small recordings made by hand: what a job asks of PyTorch's allocator, written down as PyTorch would.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

use std::collections::BTreeMap;

use oomph_engine::simulated::SimulatedDevice;
use oomph_engine::torch::block::{BlockId, OwnerIdx, State, StreamIdx};
use oomph_engine::torch::options::Options;
use oomph_engine::torch::profile::{Profile, Version};
use oomph_engine::torch::{Request, SegmentView, Torch};
use oomph_testkit::generate::fields_of;
use oomph_testkit::recorder::{Call, Recorder};
use oomph_trace::{
    Action, Addr, Block, BlockState, Bytes, Event, Frame, PoolId, PoolIdx, RecordedSettings, Segment,
    Snapshot, StackId, Stream, Trace,
};

/// Who asks: a stream, a pool (1 is a graph's own), and the frames of the stack, innermost first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct From<'a> {
    pub(crate) stream: u16,
    pub(crate) pool: u16,
    pub(crate) frames: &'a [(&'a str, &'a str, u32)],
}

/// An allocation of the job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live {
    block: BlockId,
    addr: Addr,
    size: Bytes,
    at: (Stream, PoolIdx),
}

/// A job and its recording so far.
pub(crate) struct Tape {
    torch: Torch<Recorder<SimulatedDevice>>,
    snapshot: Snapshot,
    trace: Trace,
    /// What the driver has to give.
    card: Bytes,
    pending: Vec<Live>,
    stacks: BTreeMap<Addr, Option<StackId>>,
}

impl Tape {
    /// A job under PyTorch 2.12 with these settings and this limit of PyTorch's, on a card of 80 GiB.
    pub(crate) fn new(conf: &str, limit: Option<Bytes>) -> Tape {
        Tape::on_card(conf, limit, Bytes::gib(80))
    }

    /// The same on another card.
    pub(crate) fn on_card(conf: &str, limit: Option<Bytes>, card: Bytes) -> Tape {
        Tape::under(Version::two(12), conf, limit, card)
    }

    /// The same under another version of PyTorch.
    pub(crate) fn under(version: Version, conf: &str, limit: Option<Bytes>, card: Bytes) -> Tape {
        let options = Options::parse(conf, &Profile::of(version)).unwrap();
        let settings = RecordedSettings {
            conf: (!conf.is_empty()).then(|| conf.to_owned()),
            max_split_size: options.max_split_size,
            garbage_collection_threshold: options.garbage_collection_threshold,
            expandable_segments: options.expandable_segments,
            roundup_power2_divisions: options.roundup_power2_divisions.0,
        };
        let device = Recorder::new(SimulatedDevice::new(Some(card)));
        let mut torch = Torch::new(Profile::of(version), options, limit, device);
        torch.add_owner(true);
        let snapshot = Snapshot {
            settings: Some(settings),
            pools: vec![PoolId::DEFAULT, PoolId(1, 0)],
            fields: fields_of(version),
            ..Snapshot::default()
        };
        Tape { torch, snapshot, trace: Trace::default(), card, pending: Vec::new(), stacks: BTreeMap::new() }
    }

    /// A request from nowhere in particular that must be granted.
    pub(crate) fn get(&mut self, size: Bytes) -> Live {
        self.ask(size, From::default()).expect("there is room for it")
    }

    /// A request; `None` if it fails.
    pub(crate) fn ask(&mut self, size: Bytes, from: From<'_>) -> Option<Live> {
        let at = (Stream(u64::from(from.stream) * 0x1a40), PoolIdx(from.pool));
        let stack = self.stack(from.frames);
        let request = Request { size, stream: StreamIdx(from.stream), owner: OwnerIdx(from.pool) };
        let retries = self.torch.tally().retries;
        let served = self.torch.malloc(request);
        let calls = self.torch.device_mut().take_calls();
        // A release completes what is pending before it gives anything back.
        let shrinks = |call: &Call| matches!(call.action, Action::SegmentFree | Action::SegmentUnmap);
        let first = calls.iter().position(shrinks).unwrap_or(calls.len());
        let released = self.torch.tally().retries > retries || served.is_err();
        for (index, call) in calls.iter().enumerate() {
            if released && index == first {
                self.complete_all();
            }
            self.record(call.action, call.addr, call.size, at, stack);
        }
        if released {
            self.complete_all();
        }
        match served {
            Ok(block) => {
                let addr = self.torch.block(block).addr;
                self.record(Action::Alloc, addr, size, at, stack);
                self.stacks.insert(addr, stack);
                Some(Live { block, addr, size, at })
            }
            Err(failure) => {
                let free = self.card.saturating_sub(self.torch.counters().reserved);
                self.record(Action::Oom, Addr(free.0), failure.size, at, stack);
                None
            }
        }
    }

    /// Gives memory back.
    pub(crate) fn free(&mut self, live: Live) {
        self.record(Action::FreeRequested, live.addr, live.size, live.at, None);
        self.torch.free(live.block);
        self.record(Action::FreeCompleted, live.addr, live.size, live.at, None);
    }

    /// Gives memory back that another stream still uses.
    pub(crate) fn free_later(&mut self, live: Live) {
        self.record(Action::FreeRequested, live.addr, live.size, live.at, None);
        self.torch.free_later(live.block);
        self.pending.push(live);
    }

    /// The other streams have come that far.
    pub(crate) fn wait(&mut self) {
        for live in &self.pending {
            self.torch.complete(live.block);
        }
        self.complete_all();
    }

    /// How many events there are so far.
    pub(crate) fn events(&self) -> usize {
        self.trace.events.len()
    }

    /// What PyTorch would have written, had recording begun after so many events: what was there then has no stack.
    pub(crate) fn snapshot_from(mut self, events: usize) -> Snapshot {
        let later: Vec<Event> = self.trace.events.drain(events..).collect();
        let made: Vec<Addr> =
            later.iter().filter(|event| event.action == Action::Alloc).map(|event| event.addr).collect();
        self.stacks.retain(|addr, _| made.contains(addr));
        self.trace.events = later;
        self.snapshot()
    }

    /// What PyTorch would have written.
    pub(crate) fn snapshot(mut self) -> Snapshot {
        self.trace.segments = self.torch.segments().iter().map(|segment| self.segment(segment)).collect();
        self.snapshot.traces.push(self.trace);
        self.snapshot
    }

    fn segment(&self, segment: &SegmentView) -> Segment {
        let block = |block: &oomph_engine::torch::BlockView| Block {
            addr: block.addr,
            size: block.size,
            requested: block.requested,
            state: match block.state {
                State::Allocated => BlockState::Allocated,
                State::PendingFree => BlockState::PendingFree,
                State::Free | State::Unmapped => BlockState::Free,
            },
            stack: self.stacks.get(&block.addr).copied().flatten(),
        };
        Segment {
            addr: segment.addr,
            size: segment.size,
            stream: Stream(u64::from(segment.stream.0) * 0x1a40),
            pool: PoolIdx(segment.owner.0),
            small: segment.small,
            expandable: segment.expandable,
            stack: None,
            blocks: segment.blocks.iter().map(block).collect(),
        }
    }

    fn stack(&mut self, frames: &[(&str, &str, u32)]) -> Option<StackId> {
        if frames.is_empty() {
            return None;
        }
        let ids: Vec<_> = frames
            .iter()
            .map(|(file, function, line)| {
                let file = self.snapshot.texts.intern(file);
                let function = self.snapshot.texts.intern(function);
                self.snapshot.stacks.add_frame(Frame { file, function, line: *line })
            })
            .collect();
        // Frames are not deduplicated by the table, so an equal stack is looked for here.
        let same = |id: &StackId| {
            let members = self.snapshot.stacks.frames_of(*id);
            members.len() == ids.len()
                && members
                    .iter()
                    .zip(&ids)
                    .all(|(a, b)| self.snapshot.stacks.frame(*a) == self.snapshot.stacks.frame(*b))
        };
        let found = (0..self.snapshot.stacks.len() as u32).map(StackId).find(same);
        Some(found.unwrap_or_else(|| self.snapshot.stacks.intern(&ids)))
    }

    fn complete_all(&mut self) {
        for live in std::mem::take(&mut self.pending) {
            self.record(Action::FreeCompleted, live.addr, live.size, live.at, None);
        }
    }

    fn record(
        &mut self,
        action: Action,
        addr: Addr,
        size: Bytes,
        (stream, pool): (Stream, PoolIdx),
        stack: Option<StackId>,
    ) {
        let (time_us, pool) = (self.trace.events.len() as u64, Some(pool));
        self.trace.events.push(Event { addr, size, stream, time_us, stack, metadata: None, pool, action });
    }
}
