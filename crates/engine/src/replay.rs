//! Running a program on an allocator.

use std::collections::BTreeSet;

use oomph_trace::{Action, Bytes, EventIdx};

use crate::counters::{Peaks, Tally};
use crate::device::Device;
use crate::program::{AllocId, Allocation, Op, OpKind, Program};
use crate::simulated::SimulatedDevice;
use crate::torch::block::{Block, BlockId, State};
use crate::torch::options::Options;
use crate::torch::profile::Profile;
use crate::torch::{OutOfMemory, Request, SeedSegment, Torch, rounding};

/// Requests made to fill what was cached before the start; an honest recording needs far fewer.
const MOST_CACHED: usize = 1 << 16;

/// The allocator to replay on and the memory it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The version of PyTorch.
    pub profile: Profile,
    /// Its settings.
    pub options: Options,
    /// What PyTorch may hold, as `set_per_process_memory_fraction` sets it.
    pub limit: Option<Bytes>,
    /// What the driver can give.
    pub capacity: Option<Bytes>,
}

/// How a replay ended, or how it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The greatest values of the counters.
    pub peaks: Peaks,
    /// What happened under pressure.
    pub tally: Tally,
    /// Where the job would have died: the first request that failed although the recording granted it.
    pub died: Option<EventIdx>,
}

impl Outcome {
    /// Whether every request was served, those included that the recording refused.
    pub fn completes(&self) -> bool {
        self.tally.ooms == 0
    }
}

/// What is held when a replay begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The recorded blocks at their recorded addresses, as they were under the recorded settings.
    AsRecorded,
    /// The same allocations, made again under the replay's settings.
    MadeAgain,
}

/// Whether a replay goes on after a request has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// It ends: the answer is that it does not fit.
    Stop,
    /// It goes on as the recording did after requests that failed there too. A request that fails only in the replay
    /// ends it: what the job would have done then is not recorded.
    FollowRecording,
}

/// Replays `program` on a simulated device.
pub fn replay(program: &Program, setup: &Setup, start: Start, on_failure: OnFailure) -> Outcome {
    let mut run = Run::simulated(program, setup, start);
    run.run_to_end(on_failure);
    run.outcome()
}

/// How many requests like the first that failed in the recording could be served, one after another and kept, that one
/// included; `None` where none failed. It tells a setting that just passes from one that leaves room.
pub fn requests_served(program: &Program, setup: &Setup, start: Start) -> Option<(u64, Bytes)> {
    let failure = program.failures.first()?;
    let mut run = Run::simulated(program, setup, start);
    loop {
        match run.step()? {
            (Op { kind: OpKind::AllocFailed(_), .. }, Effect::Served(_)) => break,
            (Op { kind: OpKind::AllocFailed(_), .. }, _) => return Some((0, failure.request.size)),
            (_, Effect::Failed(_)) => return None,
            _ => {}
        }
    }
    let served = (0..MOST_SERVED).take_while(|_| run.torch.malloc(failure.request).is_ok()).count();
    Some((served as u64, failure.request.size))
}

/// Where so many are served there is room enough, and they are not counted further.
const MOST_SERVED: u64 = 1000;

/// A replay under way.
#[derive(Clone, Debug)]
pub struct Run<'a, D> {
    program: &'a Program,
    pub(crate) torch: Torch<D>,
    /// The block of each allocation, while it has one.
    blocks: Vec<Option<BlockId>>,
    /// The allocations whose free waits for another stream.
    pending: BTreeSet<AllocId>,
    next: usize,
    died: Option<EventIdx>,
}

/// What one operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A request was served by this block.
    Served(BlockId),
    /// A request failed.
    Failed(OutOfMemory),
    /// It was not a request.
    Other,
}

impl<'a> Run<'a, SimulatedDevice> {
    /// A replay before the first operation, on [`simulated_device`].
    pub fn simulated(program: &'a Program, setup: &Setup, start: Start) -> Run<'a, SimulatedDevice> {
        Run::new(program, setup, simulated_device(program, setup, start), start)
    }
}

/// A simulated device that gives the recorded addresses where it can.
pub fn simulated_device(program: &Program, setup: &Setup, start: Start) -> SimulatedDevice {
    let mut device = SimulatedDevice::new(setup.capacity);
    match start {
        Start::AsRecorded => program.initial.iter().for_each(|seed| device.adopt(seed.addr, seed.size())),
        Start::MadeAgain => {
            let fixed = program.initial.iter().filter(|seed| !seed.expandable);
            device = device.with_addresses(fixed.map(|seed| (seed.addr, seed.size())));
        }
    }
    let asked = program.driver.iter().filter(|call| call.action == Action::SegmentAlloc);
    device.with_addresses(asked.map(|call| (call.addr, call.size)))
}

impl<'a, D: Device> Run<'a, D> {
    /// A replay on `device`, before the first operation.
    pub fn new(program: &'a Program, setup: &Setup, device: D, start: Start) -> Run<'a, D> {
        let mut torch = Torch::new(setup.profile, setup.options.clone(), setup.limit, device);
        for owner in &program.owners[1..] {
            torch.add_owner(owner.captures);
        }
        let mut run = Run {
            program,
            torch,
            blocks: vec![None; program.allocations.len()],
            pending: BTreeSet::new(),
            next: 0,
            died: None,
        };
        match start {
            Start::AsRecorded => {
                let ids = run.torch.seed(&program.initial);
                for (alloc, id) in program.initial_allocs.iter().zip(ids) {
                    run.blocks[alloc.index()] = Some(id);
                    if run.torch.block(id).state == State::PendingFree {
                        run.pending.insert(*alloc);
                    }
                }
            }
            Start::MadeAgain => run.make_again(),
        }
        run
    }

    /// Runs what is left.
    pub fn run_to_end(&mut self, on_failure: OnFailure) {
        while let Some(op) = self.peek() {
            self.next += 1;
            let failed = matches!(self.apply(op), Effect::Failed(_));
            if failed && (on_failure == OnFailure::Stop || self.died.is_some()) {
                return;
            }
        }
    }

    /// Runs what is left up to and including the last operation of `event`.
    pub fn advance_to(&mut self, event: EventIdx) {
        while self.step_to(event).is_some() {}
    }

    /// Runs the next operation, if it is one of `event` or of an event before it.
    pub fn step_to(&mut self, event: EventIdx) -> Option<(Op, Effect)> {
        self.peek().filter(|op| op.event <= event).and_then(|_| self.step())
    }

    /// Runs the next operation; `None` at the end.
    pub fn step(&mut self) -> Option<(Op, Effect)> {
        let op = self.peek()?;
        self.next += 1;
        Some((op, self.apply(op)))
    }

    /// The operation that [`Run::step`] runs next.
    pub fn peek(&self) -> Option<Op> {
        self.program.ops.get(self.next).copied()
    }

    /// The allocator.
    pub fn torch(&self) -> &Torch<D> {
        &self.torch
    }

    /// The device under the allocator.
    pub fn device_mut(&mut self) -> &mut D {
        self.torch.device_mut()
    }

    /// The block of an allocation, while it is in use.
    pub fn block(&self, id: AllocId) -> Option<&Block> {
        self.blocks[id.index()].map(|block| self.torch.block(block))
    }

    /// The allocations in use and their blocks, by id.
    pub fn live(&self) -> impl Iterator<Item = (AllocId, &'a Allocation, &Block)> {
        let all = self.blocks.iter().zip(&self.program.allocations).enumerate();
        all.filter_map(|(id, (block, allocation))| {
            Some((AllocId(id as u32), allocation, self.torch.block((*block)?)))
        })
    }

    /// How it stands.
    pub fn outcome(&self) -> Outcome {
        Outcome { peaks: *self.torch.peaks(), tally: *self.torch.tally(), died: self.died }
    }

    fn apply(&mut self, op: Op) -> Effect {
        self.torch.set_now(op.event);
        let program = self.program;
        match op.kind {
            OpKind::Alloc(id) => {
                let served = self.malloc(program.allocations[id.index()].request());
                match served {
                    Effect::Served(block) => self.blocks[id.index()] = Some(block),
                    _ => self.died = self.died.or(Some(op.event)),
                }
                return served;
            }
            OpKind::AllocFailed(place) => {
                let served = self.malloc(program.failures[place as usize].request);
                if let Effect::Served(block) = served {
                    // The recording does not say how long it would have lived: it counts at this one moment.
                    self.torch.free(block);
                }
                return served;
            }
            OpKind::Free(id) => {
                if let Some(block) = self.blocks[id.index()].take() {
                    self.torch.free(block);
                }
            }
            OpKind::FreeLater(id) => {
                if let Some(block) = self.blocks[id.index()] {
                    self.torch.free_later(block);
                    self.pending.insert(id);
                }
            }
            OpKind::Complete(id) => {
                if let Some(block) = self.blocks[id.index()].take() {
                    self.torch.complete(block);
                    self.pending.remove(&id);
                }
            }
            OpKind::Abandon(owner) => self.torch.abandon(owner),
            OpKind::EmptyCache => {
                self.torch.empty_cache();
                self.forget_completed();
            }
            OpKind::EmptyPool(owner) => {
                self.torch.empty_pool(owner);
                self.forget_completed();
            }
        }
        Effect::Other
    }

    fn malloc(&mut self, request: Request) -> Effect {
        let served = self.torch.malloc(request);
        self.forget_completed();
        served.map_or_else(Effect::Failed, Effect::Served)
    }

    /// A release completes pending frees; from then on the ids of those blocks may be given to others.
    fn forget_completed(&mut self) {
        if self.torch.pending() == self.pending.len() {
            return;
        }
        let (torch, blocks) = (&self.torch, &mut self.blocks);
        self.pending.retain(|alloc| {
            let entry = &mut blocks[alloc.index()];
            let waits = entry.is_some_and(|block| torch.block(block).state == State::PendingFree);
            if !waits {
                *entry = None;
            }
            waits
        });
    }

    /// Makes what was held before the start again, in order of address; what was cached is made and freed.
    fn make_again(&mut self) {
        let mut allocs = self.program.initial_allocs.iter();
        let mut cached = Vec::new();
        for seed in &self.program.initial {
            let request = |size| Request { size, stream: seed.stream, owner: seed.owner };
            for block in seed.blocks.iter().filter(|block| block.state != State::Free) {
                let Some(alloc) = allocs.next() else { break };
                let Ok(id) = self.torch.malloc(request(block.requested)) else { continue };
                self.blocks[alloc.index()] = Some(id);
                if block.state == State::PendingFree {
                    self.torch.free_later(id);
                    self.pending.insert(*alloc);
                }
            }
            if seed.blocks.iter().all(|block| block.state == State::Free) {
                // Once one is refused, so are all that follow it.
                let served = requests_that_fill(seed).map_while(|size| self.torch.malloc(request(size)).ok());
                cached.extend(served.take(MOST_CACHED.saturating_sub(cached.len())));
            }
        }
        for id in cached {
            self.torch.free(id);
        }
    }
}

/// Requests that fill a segment of this size and class.
fn requests_that_fill(seed: &SeedSegment) -> impl Iterator<Item = Bytes> {
    let each = if seed.small { rounding::SMALL_LIMIT } else { seed.size() };
    std::iter::repeat_n(each, seed.size().0.checked_div(each.0).unwrap_or_default() as usize)
}
