//! One moment of a replay: who held the memory, and what was cached.

use std::collections::BTreeMap;

use oomph_engine::counters::Counters;
use oomph_engine::recording::Recording;
use oomph_engine::replay::{Effect, Run};
use oomph_engine::simulated::SimulatedDevice;
use oomph_engine::torch::{OutOfMemory, Request, Stranded, Torch, rounding};
use oomph_trace::{Bytes, EventIdx};
use schemars::JsonSchema;
use serde::Serialize;

use crate::classes::{ByClass, Classes};
use crate::place::{InnerId, Line, Place, PlaceId, Places};

/// A line that holds memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Holder {
    /// What it holds, in blocks.
    pub bytes: Bytes,
    /// In how many allocations.
    pub count: usize,
    /// The line; null: no stack.
    pub place: Option<Place>,
    /// Of that, by the innermost line of an installed package other than PyTorch that the line leads to, largest first:
    /// where a model that the user did not write asked for it. Absent where it leads to none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<InnerHolder>,
}

/// A part of what a line holds, by the line of a package that it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InnerHolder {
    /// What it holds, in blocks.
    pub bytes: Bytes,
    /// In how many allocations.
    pub count: usize,
    /// The line.
    #[serde(flatten)]
    pub line: Line,
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
    pub failed: Option<Failure>,
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
pub struct Failure {
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

/// Advances a replay under the recorded settings up to and including the last operation of `event`.
///
/// `step`: where the step under way began.
pub(crate) fn at(
    recording: &Recording,
    run: &mut Run<'_, SimulatedDevice>,
    places: &mut Places<'_>,
    event: EventIdx,
    step: Option<EventIdx>,
    classes: Option<&Classes>,
) -> Moment {
    let mut failed = None;
    while let Some((op, effect)) = run.step_to(event) {
        if let Effect::Failed(failure) = effect
            && let Some(request) = recording.program.request(op).filter(|_| op.event == event)
        {
            failed = Some(describe(run.torch(), request, failure));
        }
    }
    let torch = run.torch();
    let began = step.unwrap_or_default();
    let of_step = run.live().filter(|(_, allocation, _)| allocation.born().is_some_and(|born| born >= began));
    Moment {
        event,
        counters: *torch.counters(),
        releasable: torch.releasable(),
        private: torch.cached(|segment| !torch.may_release(segment.owner)),
        largest: run.live().map(|(_, _, block)| block.size).max().unwrap_or_default(),
        holders: holders(run, places),
        of_step: of_step.map(|(_, _, block)| block.size).sum(),
        failed,
        classes: classes.map(|classes| classes.at(run)),
    }
}

fn describe(torch: &Torch<SimulatedDevice>, request: Request, failure: OutOfMemory) -> Failure {
    let small = failure.size <= rounding::SMALL_LIMIT;
    Failure {
        size: failure.size,
        segment: failure.segment,
        stranded: torch.stranded(request),
        other_class: torch.cached(|segment| segment.owner == request.owner && segment.small != small),
        spurious: torch.could_serve(request),
    }
}

/// Bytes, and in how many allocations.
type Sum = (Bytes, usize);

fn holders(run: &Run<'_, SimulatedDevice>, places: &mut Places<'_>) -> Vec<Holder> {
    let mut sums: BTreeMap<PlaceId, (Sum, BTreeMap<InnerId, Sum>)> = BTreeMap::new();
    let add = |(bytes, count): &mut Sum, size: Bytes| (*bytes, *count) = (*bytes + size, *count + 1);
    for (_, allocation, block) in run.live() {
        let stack = places.stack_of(allocation);
        let (all, inner) = sums.entry(places.of(stack)).or_default();
        add(all, block.size);
        if let Some(line) = places.inner(stack) {
            add(inner.entry(line).or_default(), block.size);
        }
    }
    let inner = |sums: BTreeMap<InnerId, Sum>| {
        let line = |(id, (bytes, count))| InnerHolder { bytes, count, line: places.line(id).clone() };
        let mut inner: Vec<InnerHolder> = sums.into_iter().map(line).collect();
        inner.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.line.cmp(&b.line)));
        inner
    };
    let holder = |(place, ((bytes, count), sums))| Holder {
        place: places.get(place).cloned(),
        bytes,
        count,
        inner: inner(sums),
    };
    let mut holders: Vec<Holder> = sums.into_iter().map(holder).collect();
    holders.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.place.cmp(&b.place)));
    holders
}
