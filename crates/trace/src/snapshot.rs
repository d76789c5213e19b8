//! What a memory snapshot says: per device a trace of events and the segments at its end.

use crate::event::{Event, PoolId, PoolIdx, Stream};
use crate::sidecar::Sidecar;
use crate::stack::{StackId, Stacks};
use crate::text::{TextId, Texts};
use crate::units::{Addr, Bytes};

/// Everything a snapshot file holds, in plain values.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// One trace per device that has events or segments, in order of the device's number.
    pub traces: Vec<Trace>,
    /// The allocator's settings, where the file has them (PyTorch 2.3).
    pub settings: Option<RecordedSettings>,
    /// `record_function` scopes (PyTorch 2.5).
    pub annotations: Vec<Annotation>,
    /// All memory pools that the file names, in order of first appearance.
    pub pools: Vec<PoolId>,
    /// Call stacks.
    pub stacks: Stacks,
    /// File names, function names, metadata.
    pub texts: Texts,
    /// Which fields were seen; they tell PyTorch's version.
    pub fields: Fields,
    /// What oomph's recorder added, where it made the file.
    pub sidecar: Option<Sidecar>,
}

impl Snapshot {
    /// The pool's name.
    pub fn pool_id(&self, pool: PoolIdx) -> PoolId {
        self.pools[usize::from(pool.0)]
    }
}

/// One device's part of a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The device's number; -1 is the host.
    pub device: i32,
    /// What happened, in the order of the allocator's lock.
    pub events: Vec<Event>,
    /// What was held when the snapshot was taken, by address.
    pub segments: Vec<Segment>,
}

/// A contiguous range of memory held from the driver when the snapshot was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Where it begins.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// The stream it serves.
    pub stream: Stream,
    /// The pool that owns it.
    pub pool: PoolIdx,
    /// Whether it serves requests of up to 1 MiB.
    pub small: bool,
    /// Whether it is a mapped run of an expandable segment rather than one `cudaMalloc`.
    pub expandable: bool,
    /// Who caused it, if recorded.
    pub stack: Option<StackId>,
    /// Its blocks, by address; they tile it.
    pub blocks: Vec<Block>,
}

/// The state of a block when the snapshot was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockState {
    /// Serves an allocation.
    Allocated,
    /// Freed by the program, but another stream may still use it.
    PendingFree,
    /// Cached.
    Free,
}

/// A part of a segment when the snapshot was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// What was asked for; stale on a free block.
    pub requested: Bytes,
    /// Its state.
    pub state: BlockState,
    /// Who asked for it, if recorded.
    pub stack: Option<StackId>,
}

/// The beginning or the end of a named scope of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The scope's name.
    pub name: TextId,
    /// Whether it begins here.
    pub starts: bool,
    /// The device that it concerns.
    pub device: i32,
    /// When, in the clock of [`Event::time_us`].
    pub time_us: u64,
}

/// The allocator's settings as a snapshot states them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedSettings {
    /// The last string PyTorch parsed, such as `expandable_segments:True`.
    pub conf: Option<String>,
    /// Blocks of this size and more are not split; `None`: all are.
    pub max_split_size: Option<Bytes>,
    /// 0 is off.
    pub garbage_collection_threshold: f64,
    /// Whether segments grow by mapping pages.
    pub expandable_segments: bool,
    /// Divisions per power of two, for sizes below 2 MiB, 4 MiB and so on; 0 is off.
    pub roundup_power2_divisions: [u32; 16],
}

/// Fields whose presence dates a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// `is_expandable` in segments (PyTorch 2.1).
    pub is_expandable: bool,
    /// `time_us` in events (2.2).
    pub time_us: bool,
    /// `allocator_settings` (2.3).
    pub allocator_settings: bool,
    /// `external_annotations` (2.5).
    pub external_annotations: bool,
    /// `compile_context` in events (2.8).
    pub compile_context: bool,
    /// `graph_capture_record_stream_reuse` in the settings (2.9).
    pub record_stream_reuse: bool,
    /// `user_metadata` in events (2.10).
    pub user_metadata: bool,
    /// `forward_frames` in events (2.11).
    pub forward_frames: bool,
    /// `pool_id` in events (2.12).
    pub pool_id: bool,
    /// `max_round_threshold` or `max_cached_size` in the settings (2.13).
    pub max_round_threshold: bool,
    /// `host_segments` or `host_traces` (2.14).
    pub host: bool,
    /// `internal_metadata` in events (2.15).
    pub internal_metadata: bool,
}
