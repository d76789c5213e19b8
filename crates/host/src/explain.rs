//! The verdict on a recording, with its replays on all cores.

use oomph_diagnose::explain::explain;
use oomph_diagnose::message;
use oomph_diagnose::tune::Search;
use oomph_engine::recording::Recording;
use oomph_report::results::{ExplainResult, ProcessResult};
use oomph_trace::Sidecar;

use crate::parallel;

/// The verdict on one recording.
pub fn result<'a>(recording: &'a Recording<'a>) -> ExplainResult<'a> {
    let evaluate = |search: &Search<'_>| parallel::evaluate_at_limit(search, &search.shortlist());
    ExplainResult { recording, explanation: explain(recording, &evaluate) }
}

/// What is known of a process that left no memory of a card: its exception, read like any log, and the host's memory.
pub fn process(sidecar: &Sidecar) -> ProcessResult<'_> {
    let said = sidecar.exception.as_ref().map(|exception| {
        let text = exception.text.as_deref().unwrap_or_default();
        let traceback = exception.traceback.as_deref().unwrap_or_default();
        let class = exception.class.as_deref().unwrap_or("Exception");
        // The traceback ends with the text; where it is missing or cut, the text is not.
        if traceback.contains(text) {
            traceback.to_owned()
        } else {
            format!("{traceback}\n{class}: {text}\n")
        }
    });
    let said = said.filter(|text| !text.trim().is_empty());
    // Reading from memory does not fail.
    ProcessResult { sidecar, log: said.and_then(|text| message::read(text.as_bytes()).ok()) }
}
