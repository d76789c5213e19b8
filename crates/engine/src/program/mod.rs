//! A trace as a program: what the job did, without what its allocator made of it.
//!
//! The recorded calls of the driver are left out, since another allocator would make others; what the recording does
//! not say (a call of `empty_cache`, the owner of a pool, what was held before it began) is inferred here, once.

mod assume;
mod build;
mod groups;
mod initial;
mod limit;
mod ownership;

use oomph_trace::{Action, Addr, Bytes, EventIdx, PoolId, Stream};

use crate::torch::SeedSegment;
use crate::torch::block::{OwnerIdx, StreamIdx};

pub use assume::Assumptions;
pub use limit::{LimitBounds, Refusal};

/// One granted request; addresses are reused, this is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocId(pub u32);

/// One thing the job did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What was asked for, where something was.
    pub size: Bytes,
    /// The event it stems from. Driver calls between the previous operation's event and this one belong to it.
    pub event: EventIdx,
    /// The allocation it is about.
    pub alloc: AllocId,
    /// The stream asked for.
    pub stream: StreamIdx,
    /// The owner asked for, or abandoned.
    pub owner: OwnerIdx,
    /// What was done.
    pub kind: OpKind,
}

/// What the job can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// A request that the recording granted.
    Alloc,
    /// A request that the recording refused.
    AllocFailed,
    /// A free with nothing to wait for.
    Free,
    /// A free that waits for another stream.
    FreeLater,
    /// The wait is over.
    Complete,
    /// `empty_cache()`, seen from its effect.
    EmptyCache,
    /// The last user of a private pool is gone, seen from the release of its segments.
    Abandon,
    /// A `MemPool` ended: its own cache is released, nothing else.
    EmptyPool,
}

/// Whether the recording shows everything from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Nothing was in use before the first event.
    Complete,
    /// Something was: its sizes are inferred.
    Windowed,
}

/// What the recording does not say and nothing in it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Blocks in use before the first event whose exact length is a guess; at most 1 MiB each is at stake.
    SlackBeforeStart {
        /// How many.
        blocks: usize,
    },
    /// Events about memory outside every segment the snapshot accounts for; they are left out.
    OutsideSegments {
        /// How many.
        events: usize,
    },
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

/// The program of one device.
#[derive(Clone, Debug)]
pub struct Program {
    /// What the job did, in order of the events.
    pub ops: Vec<Op>,
    /// How many allocations there are, those before the start included.
    pub allocs: u32,
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

/// Where the recording can be read in more than one way.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenQuestions {
    /// Releases that may be a call of `empty_cache` or pressure, as first event and end of the run.
    pub(crate) releases: Vec<(usize, usize)>,
    /// Segments that were given back before the end, whose owner nothing tells; in the order of their ends.
    pub(crate) segments: Vec<UnownedSegment>,
    /// Blocks in use before the first event whose length is a guess.
    pub(crate) lengths: Vec<GuessedLength>,
}

/// A segment whose owner nothing tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnownedSegment {
    /// The event that made it.
    pub(crate) born: usize,
    /// The event that gave it back.
    pub(crate) died: usize,
    pub(crate) addr: Addr,
    pub(crate) size: Bytes,
    pub(crate) stream: Stream,
}

/// A block whose length is a guess.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuessedLength {
    pub(crate) addr: Addr,
    /// The least it can be.
    pub(crate) least: Bytes,
    /// As guessed.
    pub(crate) size: Bytes,
    /// Up to the next block in use.
    pub(crate) room: Bytes,
}
