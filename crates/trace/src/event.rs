//! One entry of an allocation trace.

use crate::named;
use crate::stack::StackId;
use crate::text::TextId;
use crate::units::{Addr, Bytes};

named! {
    /// What happened. The names are PyTorch's.
    Action {
        /// A request was granted; `size` is what was asked for, not the block's size.
        Alloc = "alloc",
        /// The program gave an allocation back; another stream may still use it.
        FreeRequested = "free_requested" | "free",
        /// The memory of an allocation became available again.
        FreeCompleted = "free_completed",
        /// `cudaMalloc` granted a segment.
        SegmentAlloc = "segment_alloc",
        /// `cudaFree` of a segment.
        SegmentFree = "segment_free",
        /// Pages were mapped into an expandable segment.
        SegmentMap = "segment_map",
        /// Pages were unmapped from an expandable segment.
        SegmentUnmap = "segment_unmap",
        /// A snapshot was taken; nothing changed.
        Snapshot = "snapshot",
        /// A request failed; `addr` carries what the driver called free, `size` the rounded request.
        Oom = "oom",
        /// A remark of the program (PyTorch 2.14); nothing changed.
        Annotate = "annotate",
    }
}

impl Action {
    /// Whether this is a call of the driver rather than of the program.
    pub const fn is_driver_call(self) -> bool {
        matches!(self, Action::SegmentAlloc | Action::SegmentFree | Action::SegmentMap | Action::SegmentUnmap)
    }
}

/// The handle of a CUDA stream; 0 is the default stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(pub u64);

/// PyTorch's name of a memory pool: (0, 0) is the default one, (n, 0) belongs to a CUDA graph, (0, n) to a `MemPool`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u64, pub u64);

impl PoolId {
    /// The pool of all requests that name no pool.
    pub const DEFAULT: PoolId = PoolId(0, 0);
}

/// The index of a pool in [`Snapshot::pools`](crate::snapshot::Snapshot::pools).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolIdx(pub u16);

/// One entry of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The address that it concerns; for [`Action::Oom`] see [`Event::device_free`].
    pub addr: Addr,
    /// The size that it concerns.
    pub size: Bytes,
    /// The stream that it concerns.
    pub stream: Stream,
    /// Microseconds since the epoch, 0 where the recording has none. Several events may have the same.
    pub time_us: u64,
    /// Where in the program it happened, if that was recorded.
    pub stack: Option<StackId>,
    /// What the program said about it (`user_metadata`), if anything.
    pub metadata: Option<TextId>,
    /// The pool, where the recording names it (PyTorch 2.12).
    pub pool: Option<PoolIdx>,
    /// What happened.
    pub action: Action,
}

impl Event {
    /// For an [`Action::Oom`]: the bytes the driver called free at that moment.
    pub const fn device_free(&self) -> Bytes {
        Bytes(self.addr.0)
    }
}
