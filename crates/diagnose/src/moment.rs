//! One moment of a replay: who held the memory, and what was cached.

use std::collections::BTreeSet;

use oomph_engine::counters::Counters;
use oomph_engine::program::{Op, OpKind};
use oomph_engine::recording::Recording;
use oomph_engine::replay::{Run, Start};
use oomph_engine::torch::block::{OwnerIdx, State};
use oomph_engine::torch::{OutOfMemory, Request, Stranded, rounding};
use oomph_engine::{replay::Done, simulated::SimulatedDevice};
use oomph_trace::{BlockState, Bytes, EventIdx, StackId};

use crate::classes::{ByClass, Classes};
use crate::place::{Place, Places};

/// Memory in use that one line asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The line; `None` where no stack was recorded.
    pub place: Option<Place>,
    /// The blocks' bytes.
    pub bytes: Bytes,
    /// How many allocations.
    pub count: usize,
}

/// The state of the allocator right after an operation.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The operation's event.
    pub event: EventIdx,
    /// The counters.
    pub counters: Counters,
    /// Cached, and could go back to the driver.
    pub releasable: Bytes,
    /// Cached by private pools that are in use, which never go back to the driver.
    pub private: Bytes,
    /// The largest block in use.
    pub largest: Bytes,
    /// Who holds the active memory, largest first; adds up to [`Counters::active`].
    pub holders: Vec<Holder>,
    /// Of the active memory, what was asked for since the step under way began; all of it where no steps are known.
    pub of_step: Bytes,
    /// The request that failed, if one did.
    pub failed: Option<Failed>,
    /// The active memory by what it was for, where the recorder tells; adds up to [`Counters::active`].
    pub classes: Option<ByClass>,
}

impl Moment {
    /// Cached, and tied to segments that are partly in use.
    pub fn trapped(&self) -> Bytes {
        self.counters.cached().saturating_sub(self.releasable)
    }

    /// Freed by the program, and waiting for another stream.
    pub fn pending(&self) -> Bytes {
        self.counters.active.saturating_sub(self.counters.allocated)
    }
}

/// A request that failed, and why the cache did not serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What was needed.
    pub size: Bytes,
    /// What was asked of the driver.
    pub segment: Bytes,
    /// The cached bytes by the reason they did not help.
    pub stranded: Stranded,
    /// Of those in another pool: the other size class of the same owner.
    pub other_class: Bytes,
    /// A block in the cache would have served it: its free completed only when the cache was given up.
    pub spurious: bool,
}

/// Replays under the recorded settings up to and including the last operation of `event`.
///
/// `step`: where the step under way began.
pub(crate) fn at(
    recording: &Recording,
    places: &mut Places<'_>,
    event: EventIdx,
    step: Option<EventIdx>,
    classes: Option<&Classes>,
) -> Moment {
    let mut run = Run::simulated(&recording.program, &recording.setup, Start::AsRecorded);
    let mut failed = None;
    let mut abandoned = BTreeSet::new();
    while run.peek().is_some_and(|op| op.event <= event) {
        let Some((op, done)) = run.step() else { break };
        if op.kind == OpKind::Abandon {
            abandoned.insert(op.owner);
        }
        if op.event == event
            && let Done::Failed(failure) = done
        {
            failed = Some(describe(&run, op, failure));
        }
    }
    Moment {
        event,
        counters: *run.torch().counters(),
        releasable: run.torch().releasable(),
        private: cached(&run, |owner, _| owner != OwnerIdx::DEFAULT && !abandoned.contains(&owner)),
        largest: largest(&run),
        holders: holders(recording, &run, places),
        of_step: since(recording, &run, step.unwrap_or_default()),
        failed,
        classes: classes.map(|classes| classes.at(&run)),
    }
}

/// What was in use at `event`, by what it was for.
pub(crate) fn classes_at(recording: &Recording, event: EventIdx, classes: &Classes) -> ByClass {
    let mut run = Run::simulated(&recording.program, &recording.setup, Start::AsRecorded);
    while run.peek().is_some_and(|op| op.event <= event) && run.step().is_some() {}
    classes.at(&run)
}

/// The active bytes of allocations made at or after `start`.
fn since(recording: &Recording, run: &Run<'_, SimulatedDevice>, start: EventIdx) -> Bytes {
    let made = recording.program.ops.iter().filter(|op| op.kind == OpKind::Alloc && op.event >= start);
    let blocks = made.filter_map(|op| run.blocks()[op.alloc.0 as usize]).map(|id| run.torch().block(id));
    let live = blocks.filter(|block| matches!(block.state, State::Allocated | State::PendingFree));
    live.map(|block| block.size).sum()
}

fn describe(run: &Run<'_, SimulatedDevice>, op: &Op, failure: OutOfMemory) -> Failed {
    let request = Request { size: op.size, stream: op.stream, owner: op.owner };
    Failed {
        size: failure.size,
        segment: failure.segment,
        stranded: run.torch().stranded(request),
        other_class: cached(run, |owner, small| {
            owner == op.owner && small != (failure.size <= rounding::SMALL_LIMIT)
        }),
        spurious: run.torch().could_serve(request),
    }
}

/// The cached bytes of the pools that `counts` chooses by owner and by whether they serve small requests.
fn cached(run: &Run<'_, SimulatedDevice>, counts: impl Fn(OwnerIdx, bool) -> bool) -> Bytes {
    let segments = run.torch().segments();
    let chosen = segments.iter().filter(|segment| counts(segment.owner, segment.small));
    let blocks = chosen.flat_map(|segment| &segment.blocks);
    blocks.filter(|block| block.state == State::Free).map(|block| block.size).sum()
}

fn largest(run: &Run<'_, SimulatedDevice>) -> Bytes {
    let blocks = run.blocks().iter().flatten().map(|id| run.torch().block(*id));
    let live = blocks.filter(|block| matches!(block.state, State::Allocated | State::PendingFree));
    live.map(|block| block.size).max().unwrap_or_default()
}

fn holders(recording: &Recording, run: &Run<'_, SimulatedDevice>, places: &mut Places<'_>) -> Vec<Holder> {
    let stacks = birth_stacks(recording, places);
    let mut sums: Vec<(Bytes, usize)> = Vec::new();
    for (alloc, block) in run.blocks().iter().enumerate() {
        let Some(block) = block.map(|id| run.torch().block(id)) else { continue };
        if !matches!(block.state, State::Allocated | State::PendingFree) {
            continue;
        }
        let place = places.of(stacks[alloc]).0 as usize;
        if sums.len() <= place {
            sums.resize(place + 1, (Bytes::ZERO, 0));
        }
        sums[place].0 += block.size;
        sums[place].1 += 1;
    }
    let mut holders: Vec<Holder> = sums
        .into_iter()
        .enumerate()
        .filter(|(_, (_, count))| *count > 0)
        .map(|(place, (bytes, count))| Holder {
            place: places.get(crate::place::PlaceId(place as u32)).cloned(),
            bytes,
            count,
        })
        .collect();
    holders.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.place.cmp(&b.place)));
    holders
}

/// The stack that asked for each allocation, by its number.
pub(crate) fn birth_stacks(recording: &Recording, places: &Places<'_>) -> Vec<Option<StackId>> {
    let program = &recording.program;
    let mut stacks = vec![None; program.allocs as usize];
    for op in program.ops.iter().filter(|op| op.kind == OpKind::Alloc) {
        stacks[op.alloc.0 as usize] = places.stack(op.event);
    }
    // What was there before the first event has a stack only if it is still there at the end.
    let survivors = recording.trace().segments.iter().flat_map(|segment| &segment.blocks);
    let survivors: rustc_hash::FxHashMap<_, _> = survivors
        .filter(|block| block.state != BlockState::Free)
        .map(|block| (block.addr, block.stack))
        .collect();
    let mut early = program.initial_allocs.iter();
    for seed in &program.initial {
        let mut addr = seed.addr;
        for block in &seed.blocks {
            if block.state != State::Free
                && let Some(alloc) = early.next()
            {
                stacks[alloc.0 as usize] = survivors.get(&addr).copied().flatten();
            }
            addr = addr.offset(block.size);
        }
    }
    stacks
}
