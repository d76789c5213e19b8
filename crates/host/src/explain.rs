//! The verdict on a recording, with its replays on all cores.

use oomph_diagnose::explain::explain;
use oomph_diagnose::tune::Search;
use oomph_engine::recording::Recording;
use oomph_report::results::ExplainResult;

use crate::parallel;

/// The verdict on one recording.
pub fn result<'a>(recording: &'a Recording<'a>) -> ExplainResult<'a> {
    let evaluate = |search: &Search<'_>| parallel::evaluate_at_limit(search, &search.shortlist());
    ExplainResult { recording, explanation: explain(recording, &evaluate) }
}
