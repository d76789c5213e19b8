//! Running a program on an allocator.

use std::collections::BTreeSet;

use oomph_trace::{Action, Bytes, EventIdx};

use crate::counters::{Peaks, Tally};
use crate::device::Device;
use crate::program::{AllocId, Op, OpKind, Program};
use crate::simulated::SimulatedDevice;
use crate::torch::block::{BlockId, State};
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

/// How a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The greatest values of the counters.
    pub peaks: Peaks,
    /// What happened under pressure.
    pub tally: Tally,
    /// Where the job would have died: the first request that failed although the recording granted it.
    pub died: Option<EventIdx>,
}

impl Replayed {
    /// Whether every request was served, those included that the recording refused.
    pub fn completes(&self) -> bool {
        self.tally.ooms == 0
    }
}

/// What is held when a replay begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// What the recording found, where it found it: right for the recorded settings.
    AsRecorded,
    /// The same allocations, made again under the replay's settings.
    MadeAgain,
}

/// Whether a replay goes on after a request has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// It ends: the answer is that it does not fit.
    Stop,
    /// It goes on as the recording did, as long as the recording knows how: after requests that failed there too.
    FollowRecording,
}

/// Replays `program` on a simulated device.
pub fn replay(program: &Program, setup: &Setup, start: Start, on_failure: OnFailure) -> Replayed {
    let mut run = Run::simulated(program, setup, start);
    run.run_to_end(on_failure);
    run.result()
}

/// How many requests like the first that failed in the recording could be served, one after another and kept, that one
/// included; `None` where none failed. It tells a setting that just passes from one that leaves room.
pub fn requests_served(program: &Program, setup: &Setup, start: Start) -> Option<(u64, Bytes)> {
    let mut run = Run::simulated(program, setup, start);
    let op = loop {
        let (op, done) = run.step()?;
        match (op.kind, done) {
            (OpKind::AllocFailed, Done::Served(_)) => break op,
            (OpKind::AllocFailed, _) => return Some((0, op.size)),
            (_, Done::Failed(_)) => return None,
            _ => {}
        }
    };
    let request = Request { size: op.size, stream: op.stream, owner: op.owner };
    let served = (0..MOST_SERVED).take_while(|_| run.torch.malloc(request).is_ok()).count();
    Some((served as u64, op.size))
}

/// More than this leaves room enough, however much.
const MOST_SERVED: u64 = 1000;

/// A replay under way.
#[derive(Clone, Debug)]
pub struct Run<'a, D> {
    program: &'a Program,
    torch: Torch<D>,
    /// The block of each allocation, while it has one.
    blocks: Vec<Option<BlockId>>,
    /// The allocations whose free waits for another stream.
    pending: BTreeSet<AllocId>,
    next: usize,
    died: Option<EventIdx>,
}

/// What one operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// A request was served by this block.
    Served(BlockId),
    /// A request failed.
    Failed(OutOfMemory),
    /// It was not a request.
    Other,
}

impl<'a> Run<'a, SimulatedDevice> {
    /// Before the first operation, on a simulated device that gives the recorded addresses where it can.
    pub fn simulated(program: &'a Program, setup: &Setup, start: Start) -> Run<'a, SimulatedDevice> {
        let fixed =
            program.initial.iter().filter(|seed| !seed.expandable).map(|seed| (seed.addr, seed.size()));
        let asked = program.driver.iter().filter(|call| call.action == Action::SegmentAlloc);
        let asked = asked.map(|call| (call.addr, call.size));
        let device = match start {
            Start::MadeAgain => SimulatedDevice::new(setup.capacity).with_addresses(fixed.chain(asked)),
            Start::AsRecorded => {
                let mut device = SimulatedDevice::new(setup.capacity).with_addresses(asked);
                for seed in &program.initial {
                    device.adopt(seed.addr, seed.size());
                }
                device
            }
        };
        Run::new(program, setup, device, start)
    }
}

impl<'a, D: Device> Run<'a, D> {
    /// Before the first operation.
    pub fn new(program: &'a Program, setup: &Setup, device: D, start: Start) -> Run<'a, D> {
        let mut torch = Torch::new(setup.profile, setup.options.clone(), setup.limit, device);
        for owner in &program.owners[1..] {
            torch.add_owner(owner.captures);
        }
        let mut run = Run {
            program,
            torch,
            blocks: vec![None; program.allocs as usize],
            pending: BTreeSet::new(),
            next: 0,
            died: None,
        };
        match start {
            Start::AsRecorded => {
                let ids = run.torch.seed(&program.initial);
                for (alloc, id) in program.initial_allocs.iter().zip(ids) {
                    run.blocks[alloc.0 as usize] = Some(id);
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
        while let Some(op) = self.program.ops.get(self.next) {
            let done = self.apply(op);
            if matches!(done, Done::Failed(_)) && (on_failure == OnFailure::Stop || self.died.is_some()) {
                return;
            }
            self.next += 1;
        }
    }

    /// Runs the next operation; `None` at the end.
    pub fn step(&mut self) -> Option<(&'a Op, Done)> {
        let op = self.program.ops.get(self.next)?;
        self.next += 1;
        Some((op, self.apply(op)))
    }

    /// The operation that [`Run::step`] runs next.
    pub fn peek(&self) -> Option<&'a Op> {
        self.program.ops.get(self.next)
    }

    /// The allocator.
    pub fn torch(&self) -> &Torch<D> {
        &self.torch
    }

    /// The allocator, to reach its device.
    pub fn torch_mut(&mut self) -> &mut Torch<D> {
        &mut self.torch
    }

    /// The block of each allocation, by its number.
    pub fn blocks(&self) -> &[Option<BlockId>] {
        &self.blocks
    }

    /// How it stands.
    pub fn result(&self) -> Replayed {
        Replayed { peaks: *self.torch.peaks(), tally: *self.torch.tally(), died: self.died }
    }

    fn apply(&mut self, op: &Op) -> Done {
        self.torch.set_now(op.event);
        match op.kind {
            OpKind::Alloc | OpKind::AllocFailed => {
                let request = Request { size: op.size, stream: op.stream, owner: op.owner };
                let served = self.torch.malloc(request);
                self.forget_completed();
                match served {
                    Ok(block) if op.kind == OpKind::Alloc => {
                        self.blocks[op.alloc.0 as usize] = Some(block);
                        Done::Served(block)
                    }
                    Ok(block) => {
                        // The recording does not say how long it would have lived: it counts at this one moment.
                        self.torch.free(block);
                        Done::Served(block)
                    }
                    Err(failure) => {
                        if op.kind == OpKind::Alloc {
                            self.died.get_or_insert(op.event);
                        }
                        Done::Failed(failure)
                    }
                }
            }
            OpKind::Free => {
                if let Some(block) = self.blocks[op.alloc.0 as usize].take() {
                    self.torch.free(block);
                }
                Done::Other
            }
            OpKind::FreeLater => {
                if let Some(block) = self.blocks[op.alloc.0 as usize] {
                    self.torch.free_later(block);
                    self.pending.insert(op.alloc);
                }
                Done::Other
            }
            OpKind::Complete => {
                if let Some(block) = self.blocks[op.alloc.0 as usize].take() {
                    self.torch.complete(block);
                    self.pending.remove(&op.alloc);
                }
                Done::Other
            }
            OpKind::EmptyCache => {
                self.torch.empty_cache();
                self.forget_completed();
                Done::Other
            }
            OpKind::Abandon => {
                self.torch.abandon(op.owner);
                Done::Other
            }
            OpKind::EmptyPool => {
                self.torch.empty_pool(op.owner);
                self.forget_completed();
                Done::Other
            }
        }
    }

    /// A release completes pending frees; from then on the ids of those blocks may be given to others.
    fn forget_completed(&mut self) {
        if self.torch.pending() == self.pending.len() {
            return;
        }
        let (torch, blocks) = (&self.torch, &mut self.blocks);
        self.pending.retain(|alloc| {
            let entry = &mut blocks[alloc.0 as usize];
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
                self.blocks[alloc.0 as usize] = Some(id);
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
    let count = seed.size().0.checked_div(each.0).unwrap_or_default();
    (0..count).map(move |_| each)
}
