//! The parts that several verbs share: what the recording is, its peaks, how exactly it is replayed, lines of the program.

use oomph_engine::counters;
use oomph_engine::fidelity;
use oomph_engine::program::{Origin, Unknown};
use oomph_engine::recording::{LimitSource, Recording};
use oomph_trace::Bytes;

document! {
    /// What the recording is.
    pub(super) fn trace(recording: &Recording) -> Trace with (bounds = &recording.program.limit) {
        /// The GPU's number.
        device: i32 = recording.trace().device,
        /// How many events.
        events: usize = recording.trace().events.len(),
        /// `"windowed"`: something was in use before the first event.
        origin: Origin = recording.program.origin,
        /// The version of PyTorch, such as `"2.11"`: given with `--profile`, recorded, or inferred.
        profile: String = recording.setup.profile.version.to_string(),
        /// The recorded settings; `""` for defaults.
        settings: String = recording.setup.options.to_string(),
        /// What the process could hold.
        limit: Option<Bytes> = recording.ceiling(),
        /// How the limit is known. `"given"` on the command line; `"recorded"`: the fraction that was set, from a
        /// [recording](recording.md); `"refusals"`: from what was granted and refused; `"garbage_collection"`: from
        /// when it ran.
        limit_source: Option<LimitSource> = recording.limit_source,
        /// The most that was granted: the limit is at least this.
        limit_at_least: Bytes = bounds.at_least,
        /// The least that was refused: the limit is below this.
        limit_below: Option<Bytes> = bounds.below,
        /// What the recording does not tell.
        unknown: Vec<Unknown> = recording.program.unknown.clone(),
    }

    /// The peaks of the recording.
    pub(super) fn recorded(recording: &Recording) -> Recorded {
        #[serde(flatten)]
        peaks: Peaks = peaks(&recording.peaks),
        /// True where the replay is not exact: then allocated and active lack what was lost by not splitting.
        estimated: bool = !recording.is_exact(),
    }

    /// The greatest value of each [counter](../concepts/words.md#counters).
    pub(super) fn peaks(peaks: &counters::Peaks) -> Peaks {
        /// The peak of what was asked for.
        peak_requested: Bytes = peaks.requested.bytes,
        /// The peak of what served an allocation.
        peak_allocated: Bytes = peaks.allocated.bytes,
        /// The peak of that and what waits for another stream.
        peak_active: Bytes = peaks.active.bytes,
        /// The peak of what was held from the driver.
        peak_reserved: Bytes = peaks.reserved.bytes,
    }

    /// Whether the replay of the recording is exact.
    pub(super) fn fidelity(recording: &Recording) -> Fidelity {
        /// Every address, driver call, failure and final block agreed.
        exact: bool = recording.is_exact(),
        /// Where recording and replay first differ.
        first_divergence: Option<Divergence> = recording.fidelity.divergence.as_ref().map(divergence),
    }

    /// Where a replay parts from the recording.
    fn divergence(parted: &fidelity::Divergence) -> Divergence {
        /// The event.
        event: u32 = parted.event.0,
        /// What the recording shows, in words.
        recorded: String = parted.recorded.to_string(),
        /// What the replay did, in words.
        replayed: String = parted.replayed.to_string(),
    }
}
