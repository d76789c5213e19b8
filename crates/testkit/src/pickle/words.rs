//! The constant texts of a snapshot. Each is one object in PyTorch, so it is written once and referred to after.

use std::io::Write;

use super::encoder::{Encoder, Memo, Style};

macro_rules! words {
    ($($name:ident = $text:literal,)*) => {
        /// A constant text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Word { $($name),* }
        const TEXTS: &[&str] = &[$($text),*];
    };
}

words! {
    Action = "action", Addr = "addr", DeviceFree = "device_free", Size = "size", Stream = "stream",
    TimeUs = "time_us", CompileContext = "compile_context", UserMetadata = "user_metadata", PoolId = "pool_id",
    Frames = "frames", Name = "name", Filename = "filename", Line = "line",
    Segments = "segments", DeviceTraces = "device_traces", AllocatorSettings = "allocator_settings",
    ExternalAnnotations = "external_annotations", HostSegments = "host_segments", HostTraces = "host_traces",
    Device = "device", Address = "address", TotalSize = "total_size", AllocatedSize = "allocated_size",
    ActiveSize = "active_size", RequestedSize = "requested_size", SegmentType = "segment_type",
    SegmentPoolId = "segment_pool_id", IsExpandable = "is_expandable", Blocks = "blocks", State = "state",
    History = "history", RealSize = "real_size", Stage = "stage", Small = "small", Large = "large",
    ActiveAllocated = "active_allocated", ActivePendingFree = "active_pending_free", Inactive = "inactive",
    Alloc = "alloc", FreeRequested = "free_requested", FreeCompleted = "free_completed",
    SegmentAlloc = "segment_alloc", SegmentFree = "segment_free", SegmentMap = "segment_map",
    SegmentUnmap = "segment_unmap", Snapshot = "snapshot", Oom = "oom", Annotate = "annotate", Empty = "",
    Conf = "PYTORCH_CUDA_ALLOC_CONF", MaxSplitSize = "max_split_size",
    GarbageCollectionThreshold = "garbage_collection_threshold", ExpandableSegments = "expandable_segments",
    PinnedThreads = "pinned_num_register_threads", ReleaseLock = "release_lock_on_cudamalloc",
    PinnedRegister = "pinned_use_cuda_host_register", StreamReuse = "graph_capture_record_stream_reuse",
    MaxRoundThreshold = "max_round_threshold", MaxCachedSize = "max_cached_size",
    Roundup = "roundup_power2_divisions", Oomph = "oomph",
}

impl From<oomph_trace::Action> for Word {
    fn from(action: oomph_trace::Action) -> Word {
        use oomph_trace::Action;
        match action {
            Action::Alloc => Word::Alloc,
            Action::FreeRequested => Word::FreeRequested,
            Action::FreeCompleted => Word::FreeCompleted,
            Action::SegmentAlloc => Word::SegmentAlloc,
            Action::SegmentFree => Word::SegmentFree,
            Action::SegmentMap => Word::SegmentMap,
            Action::SegmentUnmap => Word::SegmentUnmap,
            Action::Snapshot => Word::Snapshot,
            Action::Oom => Word::Oom,
            Action::Annotate => Word::Annotate,
        }
    }
}

/// Which constant texts were written already, and in C++'s style which others.
#[derive(Debug)]
pub(super) struct Vocabulary {
    memos: Vec<Option<Memo>>,
    by_value: Option<std::collections::HashMap<String, Memo>>,
}

impl Vocabulary {
    pub(super) fn new(style: Style) -> Vocabulary {
        Vocabulary {
            memos: vec![None; TEXTS.len()],
            by_value: (style == Style::Cpp).then(std::collections::HashMap::new),
        }
    }

    /// Writes a constant text, or refers to it.
    pub(super) fn word<W: Write>(&mut self, out: &mut Encoder<W>, word: Word) {
        match self.memos[word as usize] {
            Some(memo) => out.again(memo),
            None => {
                let memo = self.text(out, TEXTS[word as usize]);
                self.memos[word as usize] = Some(memo);
            }
        }
    }

    /// Writes another text: each is an object of its own in Python, and one of equal value in C++.
    pub(super) fn text<W: Write>(&mut self, out: &mut Encoder<W>, text: &str) -> Memo {
        let Some(by_value) = &mut self.by_value else { return out.text(text) };
        if let Some(memo) = by_value.get(text) {
            out.again(*memo);
            return *memo;
        }
        let memo = out.text(text);
        by_value.insert(text.to_owned(), memo);
        memo
    }
}
