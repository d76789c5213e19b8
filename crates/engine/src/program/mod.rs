//! A trace as a program: what the job did, without what its allocator made of it.
//!
//! The recorded calls of the driver are left out, since another allocator would make others; what the recording does
//! not say (a call of `empty_cache`, the owner of a pool, what was held before it began) is inferred here, once.
//!
//! In reading order: an allocation, the memory limit, how doubtful parts are read, what is rare among the events; then what
//! the program is made of: whose each pool is, runs of driver calls, what was held at the start, and the pass over the events.

mod allocation;

mod limit;

mod assumptions;

mod survey;

mod ownership;

mod groups;

mod initial;

mod build;

use oomph_trace::{Action, Addr, Bytes, EventIdx, PoolId, Snapshot, Stream, Trace, named};
use schemars::JsonSchema;
use serde::Serialize;

use crate::torch::block::OwnerIdx;
use crate::torch::options::Options;
use crate::torch::profile::Profile;
use crate::torch::{Request, SeedSegment};

pub use allocation::{AllocId, Allocation};
pub(crate) use assumptions::{Assumptions, GuessedLength, OpenQuestions, UnownedSegment};
pub use limit::{LimitBounds, Refusal};
pub(crate) use survey::Survey;

/// The program of one device.
#[derive(Clone, Debug)]
pub struct Program {
    /// What the job did, in order of the events.
    pub ops: Vec<Op>,
    /// The requests that were granted, by id. Those within the recording are in order of their births.
    pub allocations: Vec<Allocation>,
    /// The requests that the recording refused, in order.
    pub failures: Vec<FailedRequest>,
    /// The streams by rank.
    pub streams: Vec<Stream>,
    /// The owners; the first is the default one.
    pub owners: Vec<OwnerInfo>,
    /// What was held before the first event, by address.
    pub initial: Vec<SeedSegment>,
    /// The allocations in `initial`: those of its blocks that are not free, in order.
    pub initial_allocs: Vec<AllocId>,
    /// Whether the recording shows everything.
    pub origin: Origin,
    /// The recorded calls of the driver.
    pub driver: Vec<DriverCall>,
    /// What the recording tells about the memory limit.
    pub limit: LimitBounds,
    /// What nothing tells.
    pub unknown: Vec<Unknown>,
    /// Readings that another one could replace.
    pub(crate) open: OpenQuestions,
}

impl Program {
    /// The allocations that were made within the recording, in order, and the events that granted them.
    pub fn births(&self) -> impl DoubleEndedIterator<Item = (EventIdx, AllocId, &Allocation)> {
        let numbered = self.allocations.iter().enumerate();
        numbered.filter_map(|(id, allocation)| Some((allocation.born()?, AllocId(id as u32), allocation)))
    }

    /// What an operation asks for; `None` where it is not a request.
    pub fn request(&self, op: Op) -> Option<Request> {
        match op.kind {
            OpKind::Alloc(id) => Some(self.allocations[id.index()].request()),
            OpKind::AllocFailed(place) => Some(self.failures[place as usize].request),
            _ => None,
        }
    }

    /// Births and deaths of allocations in order, those of allocations from before the start included.
    pub fn changes(&self) -> impl Iterator<Item = (EventIdx, Change, AllocId)> {
        self.ops.iter().filter_map(|op| match op.kind {
            OpKind::Alloc(id) => Some((op.event, Change::Birth, id)),
            OpKind::Free(id) | OpKind::Complete(id) => Some((op.event, Change::Death, id)),
            _ => None,
        })
    }
}

/// What becomes of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Its request is granted.
    Birth,
    /// Its memory may serve others.
    Death,
}

/// One thing the job did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The event it stems from. Driver calls between the previous operation's event and this one belong to it.
    pub event: EventIdx,
    /// What was done.
    pub kind: OpKind,
}

/// What the job can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// A request that the recording granted.
    Alloc(AllocId),
    /// A request that the recording refused, by its place in [`Program::failures`].
    AllocFailed(u32),
    /// A free with nothing to wait for.
    Free(AllocId),
    /// A free that waits for another stream.
    FreeLater(AllocId),
    /// The wait is over.
    Complete(AllocId),
    /// `empty_cache()`, seen from its effect.
    EmptyCache,
    /// The last user of a private pool is gone, seen from the release of its segments.
    Abandon(OwnerIdx),
    /// A `MemPool` ended: its own cache is released, nothing else.
    EmptyPool(OwnerIdx),
}

/// A request that the recording refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedRequest {
    /// The event.
    pub event: EventIdx,
    /// What was asked for.
    pub request: Request,
}

named! {
    /// Whether the recording shows everything from the start.
    Origin {
        /// Nothing was in use before the first event.
        Complete = "complete",
        /// Something was: its sizes are inferred.
        Windowed = "windowed",
    }
}

/// What the recording does not say and nothing in it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// The length of so many blocks in use before the first event is a guess; at most 1 MiB each is at stake.
    SlackBeforeStart(usize),
    /// So many events about memory outside every segment the snapshot accounts for are left out.
    OutsideSegments(usize),
}

/// A call of the driver in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverCall {
    /// The event.
    pub event: EventIdx,
    /// One of the four segment actions.
    pub action: Action,
    /// Where.
    pub addr: Addr,
    /// How much.
    pub size: Bytes,
}

/// An owner of private pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerInfo {
    /// PyTorch's name for it.
    pub id: PoolId,
    /// Whether requests to it come from a graph capture.
    pub captures: bool,
}

/// What a program is read from: one trace of a snapshot and the settings it ran under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) trace: &'a Trace,
    /// Of the trace.
    pub(crate) survey: &'a Survey,
    pub(crate) options: &'a Options,
    pub(crate) profile: &'a Profile,
    /// What decides where the trace can be read in more than one way.
    pub(crate) assumptions: &'a Assumptions,
}

/// Whether a call of the driver gives memory back.
pub(crate) fn shrinks(action: Action) -> bool {
    matches!(action, Action::SegmentFree | Action::SegmentUnmap)
}
