//! `oomph tune --json`.

use oomph_diagnose::results::tune::TuneResult;
use oomph_diagnose::tune::{self, Candidate};
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
        candidates: Vec<Candidate> = result.candidates.clone(),
        /// The one to recommend; where none helps, the recorded one.
        best: Best = best(result),
        /// What grows from iteration to iteration, which no setting cures.
        growth_per_step: Option<Bytes> = result.growth.as_ref().map(|growth| growth.per_step),
    }

    /// The candidate to recommend.
    fn best(result: &TuneResult) -> Best with (chosen = &result.candidates[result.best.unwrap_or(0)]) {
        #[serde(flatten)]
        candidate: Candidate = chosen.clone(),
        /// Whether it does better than the recorded settings.
        helps: bool = result.best.is_some(),
        /// What to mind, in sentences.
        risks: Vec<&'static str> = tune::risks(&chosen.options),
    }
}
