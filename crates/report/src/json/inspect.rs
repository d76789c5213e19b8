//! `oomph inspect --json`.

use oomph_engine::torch::profile::Version;
use oomph_trace::{BlockState, Bytes, Snapshot};

use super::SCHEMA;

document! {
    /// What a file holds, before anything is concluded from it.
    pub fn inspect(snapshot: &Snapshot) -> Inspect {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The version of PyTorch by the fields present.
        version: String = Version::inferred_from(&snapshot.fields).to_string(),
        /// The recorded string, empty for defaults; null where the file has no settings.
        settings: Option<String> = snapshot.settings.as_ref().map(|set| set.conf.clone().unwrap_or_default()),
        /// Distinct stacks.
        stacks: usize = snapshot.stacks.len(),
        /// Distinct frames.
        frames: usize = snapshot.stacks.frame_count(),
        /// The devices of the file.
        devices: Vec<InspectedDevice> = snapshot.traces.iter().map(device).collect(),
    }

    /// What a file holds of one device.
    fn device(trace: &oomph_trace::Trace) -> InspectedDevice {
        /// Its number; −1: the host.
        device: i32 = trace.device,
        /// How many events.
        events: usize = trace.events.len(),
        /// How many segments.
        segments: usize = trace.segments.len(),
        /// Held from the driver at the end.
        held: Bytes = held(trace),
        /// Of that, what serves an allocation, or waits for another stream.
        in_use: Bytes = in_use(trace),
    }
}

/// What was held from the driver when the snapshot was taken.
pub(crate) fn held(trace: &oomph_trace::Trace) -> Bytes {
    trace.segments.iter().map(|segment| segment.size).sum()
}

/// What serves an allocation, or waits for another stream, when the snapshot was taken.
pub(crate) fn in_use(trace: &oomph_trace::Trace) -> Bytes {
    let blocks = trace.segments.iter().flat_map(|segment| &segment.blocks);
    blocks.filter(|block| block.state != BlockState::Free).map(|block| block.size).sum()
}
