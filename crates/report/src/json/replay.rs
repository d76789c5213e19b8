//! `oomph replay --json`.

use oomph_diagnose::results::replay::ReplayResult;
use oomph_trace::Bytes;

use super::SCHEMA;
use super::recording::{Fidelity, Peaks, Recorded, Trace, fidelity, peaks, recorded, trace};

document! {
    /// One recording under other settings, or the check of it under its own.
    pub fn replay(result: &ReplayResult) -> Replay {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The recording.
        trace: Trace = trace(&result.recording),
        /// Its peaks.
        recorded: Recorded = recorded(&result.recording),
        /// What the replay gave.
        replayed: Replayed = replayed(result),
        /// Whether the replay is exact; only with the recorded settings and limit.
        #[serde(skip_serializing_if = "Option::is_none")]
        fidelity: Option<Fidelity> = result.as_recorded.then(|| fidelity(&result.recording)),
    }

    /// What a replay gave, up to where it died.
    fn replayed(result: &ReplayResult) -> Replayed with (tally = &result.replayed.tally) {
        #[serde(flatten)]
        peaks: Peaks = peaks(&result.replayed.peaks),
        /// The settings replayed; `""` for defaults.
        settings: String = result.setup.options.to_string(),
        /// The limit replayed.
        limit: Option<Bytes> = result.setup.limit.or(result.setup.capacity),
        /// How often the whole cache was dropped.
        retries: u64 = tally.retries,
        /// Requests that failed.
        ooms: u64 = tally.ooms,
        /// Calls that gave or took memory.
        driver_calls: u64 = tally.driver_grows + tally.driver_shrinks,
        /// Whether every request was served, also those that the recording refused.
        completes: bool = result.replayed.completes(),
        /// The first request that failed although the recording granted it; the replay ends there.
        died_at: Option<u32> = result.replayed.died.map(|event| event.0),
    }
}
