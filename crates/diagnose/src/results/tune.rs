//! What `oomph tune` finds: the settings that need the least memory.

use std::sync::Arc;

use oomph_engine::recording::Recording;
use oomph_trace::Bytes;

use crate::place::Places;
use crate::steps::{self, Growth};
use crate::tune::{Candidate, Search, best};

/// The result for one device.
#[derive(Clone, Debug)]
pub struct TuneResult {
    /// The recording.
    pub recording: Arc<Recording>,
    /// The limit of the search.
    pub limit: Option<Bytes>,
    /// Every setting tried, the recorded one first.
    pub candidates: Vec<Candidate>,
    /// The one to recommend, as its place in the list; `None`: none helps.
    pub best: Option<usize>,
    /// What grows from iteration to iteration, which no setting cures.
    pub growth: Option<Growth>,
}

impl TuneResult {
    /// Searches the settings for one recording. `evaluate` replays all of a search's candidates.
    pub fn of(
        recording: Arc<Recording>,
        limit: Option<Bytes>,
        evaluate: impl FnOnce(&Search<'_>) -> Vec<Candidate>,
    ) -> TuneResult {
        let search = Search::new(&recording, limit);
        let candidates = evaluate(&search);
        let best = best(&candidates);
        let growth = steps::find(&recording, &mut Places::new(&recording)).growth;
        let limit = search.limit;
        TuneResult { recording, limit, candidates, best, growth }
    }
}
