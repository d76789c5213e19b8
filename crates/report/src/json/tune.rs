//! `oomph tune --json`.

use oomph_diagnose::results::tune::TuneResult;
use oomph_diagnose::tune;
use oomph_trace::Bytes;

use super::SCHEMA;
use super::recording::{Fidelity, Recorded, Trace, fidelity, recorded, trace};

document! {
    /// The settings that need the least memory, found by replay.
    pub fn tune(result: &TuneResult) -> Tune {
        /// The schema's number: 1.
        schema: u32 = SCHEMA,
        /// The recording.
        trace: Trace = trace(&result.recording),
        /// Its peaks.
        recorded: Recorded = recorded(&result.recording),
        /// Whether its replay is exact.
        fidelity: Fidelity = fidelity(&result.recording),
        /// The limit of the search: `--limit`, else the recording's.
        limit: Option<Bytes> = result.limit,
        /// Every setting tried, the recorded one first.
        candidates: Vec<Candidate> = result.candidates.iter().map(candidate).collect(),
        /// The one to recommend; where none helps, the recorded one.
        best: Best = best(result),
        /// What grows from iteration to iteration, which no setting cures.
        growth_per_step: Option<Bytes> = result.growth.as_ref().map(|growth| growth.per_step),
    }

    /// What replays say of one setting.
    fn candidate(tried: &tune::Candidate) -> Candidate {
        /// The settings; `""` for defaults.
        settings: String = tried.options.to_string(),
        /// Held with memory to spare; with garbage collection, under the limit.
        peak_reserved: Bytes = tried.peak_reserved,
        /// The least limit that completes, to 0.1% or 2 MiB; null where none up to twice the peak does.
        smallest_limit: Option<Bytes> = tried.smallest_limit,
        /// Whether every request is served under `limit`.
        completes: bool = tried.completes,
        /// How much more could be asked for after the request that failed, in requests of its size; null where none
        /// failed, or it still does.
        room: Option<Bytes> = tried.room,
        /// How often the whole cache is dropped under `limit`.
        retries: u64 = tried.retries,
        /// Calls of the driver under `limit`.
        driver_calls: u64 = tried.driver_calls,
    }

    /// The candidate to recommend.
    fn best(result: &TuneResult) -> Best with (chosen = &result.candidates[result.best.unwrap_or(0)]) {
        #[serde(flatten)]
        candidate: Candidate = candidate(chosen),
        /// Whether it does better than the recorded settings.
        helps: bool = result.best.is_some(),
        /// What to mind, in sentences.
        risks: Vec<&'static str> = tune::risks(&chosen.options),
    }
}
