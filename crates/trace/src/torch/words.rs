//! The words of a snapshot. Each has a number, so that keys are compared as integers.

use crate::event::Action;
use crate::text::{TextId, Texts};

macro_rules! words {
    ($($name:ident = $text:literal $(=> $action:ident)?,)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Number { $($name),* }
        $(pub(super) const $name: TextId = TextId(Number::$name as u32);)*
        const ALL: &[&str] = &[$($text),*];

        /// The action a word names.
        pub(super) fn action(word: TextId) -> Option<Action> {
            match word { $($($name => Some(Action::$action),)?)* _ => None }
        }
    };
}

words! {
    EMPTY = "",
    ACTION = "action",
    ADDR = "addr",
    DEVICE_FREE = "device_free",
    SIZE = "size",
    STREAM = "stream",
    TIME_US = "time_us",
    COMPILE_CONTEXT = "compile_context",
    USER_METADATA = "user_metadata",
    POOL_ID = "pool_id",
    INTERNAL_METADATA = "internal_metadata",
    FRAMES = "frames",
    FORWARD_FRAMES = "forward_frames",
    FILENAME = "filename",
    LINE = "line",
    NAME = "name",
    ALLOC = "alloc" => Alloc,
    FREE = "free" => FreeRequested,
    FREE_REQUESTED = "free_requested" => FreeRequested,
    FREE_COMPLETED = "free_completed" => FreeCompleted,
    SEGMENT_ALLOC = "segment_alloc" => SegmentAlloc,
    SEGMENT_FREE = "segment_free" => SegmentFree,
    SEGMENT_MAP = "segment_map" => SegmentMap,
    SEGMENT_UNMAP = "segment_unmap" => SegmentUnmap,
    SNAPSHOT = "snapshot" => Snapshot,
    OOM = "oom" => Oom,
    ANNOTATE = "annotate" => Annotate,
    SEGMENTS = "segments",
    DEVICE_TRACES = "device_traces",
    ALLOCATOR_SETTINGS = "allocator_settings",
    EXTERNAL_ANNOTATIONS = "external_annotations",
    HOST_SEGMENTS = "host_segments",
    HOST_TRACES = "host_traces",
    DEVICE = "device",
    ADDRESS = "address",
    TOTAL_SIZE = "total_size",
    SEGMENT_TYPE = "segment_type",
    SMALL = "small",
    SEGMENT_POOL_ID = "segment_pool_id",
    IS_EXPANDABLE = "is_expandable",
    BLOCKS = "blocks",
    REQUESTED_SIZE = "requested_size",
    STATE = "state",
    ACTIVE_ALLOCATED = "active_allocated",
    ACTIVE_PENDING_FREE = "active_pending_free",
    ACTIVE_AWAITING_FREE = "active_awaiting_free",
    INACTIVE = "inactive",
    HISTORY = "history",
    REAL_SIZE = "real_size",
    STAGE = "stage",
    START = "START",
    CONF = "PYTORCH_CUDA_ALLOC_CONF",
    MAX_SPLIT_SIZE = "max_split_size",
    GC_THRESHOLD = "garbage_collection_threshold",
    EXPANDABLE_SEGMENTS = "expandable_segments",
    ROUNDUP = "roundup_power2_divisions",
    RECORD_STREAM_REUSE = "graph_capture_record_stream_reuse",
    MAX_ROUND_THRESHOLD = "max_round_threshold",
    MAX_CACHED_SIZE = "max_cached_size",
    OOMPH = "oomph",
}

/// A table in which every word above has its number.
pub(super) fn texts() -> Texts {
    let mut texts = Texts::default();
    for word in ALL {
        texts.intern(word);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_its_number_and_actions_their_names() {
        let texts = texts();
        assert_eq!(texts.len(), ALL.len());
        for (number, word) in (0..).zip(ALL) {
            assert_eq!(texts.get(TextId(number)), *word);
            assert_eq!(action(TextId(number)), Action::from_name(word), "{word}");
        }
    }
}
