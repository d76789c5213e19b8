//! The verdict on what a process of a run left: its recording, or the words it died with.

use std::path::Path;

use anyhow::Result;
use oomph_diagnose::cause::Cause;
use oomph_diagnose::message;
use oomph_engine::recording::Known;
use oomph_report::results::ExplainResult;
use oomph_report::text::{self, Colour};

use super::notes::Notes;
use crate::explain;
use crate::input::{self, Input};

/// What `oomph explain` says of one process.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The report.
    pub text: String,
    /// The settings with which a replay served the request that failed, the best first, as PyTorch reads them. None
    /// where they would only put it off.
    pub fix: Option<String>,
}

/// On a process that ran out of memory. Where the recording does not show the failure (another framework, or memory
/// that PyTorch's allocator does not manage), the words of the exception are explained.
pub fn of_process(notes: &Notes, colour: Colour) -> Option<Verdict> {
    let mut recorded = notes.recordings.iter().filter_map(|path| of_recording(path, colour).ok().flatten());
    recorded.next().or_else(|| of_words(&notes.exception_text()?, colour))
}

/// On a recording in which a request failed; `None` where none did.
pub fn of_recording(path: &Path, colour: Colour) -> Result<Option<Verdict>> {
    let Input::Snapshot(snapshot) = input::read(path)? else { return Ok(None) };
    let recordings = input::recordings(&snapshot, Known::default());
    let results: Vec<ExplainResult<'_>> = recordings.iter().map(explain::result).collect();
    let failed: Vec<&ExplainResult<'_>> =
        results.iter().filter(|result| !result.explanation.ooms.is_empty()).collect();
    let reports: Vec<String> = failed.iter().map(|result| text::explain::render(result, colour)).collect();
    // Where memory grows with every step, a setting only moves the failure.
    let curable = failed.iter().filter(|result| result.explanation.cause != Some(Cause::Leak));
    let fixes = curable.flat_map(|result| &result.explanation.fixes);
    let mut helping =
        fixes.filter(|fix| fix.helps && fix.candidate.completes).map(|fix| fix.candidate.options.to_string());
    let fix = helping.find(|settings| !settings.is_empty());
    Ok((!failed.is_empty()).then(|| Verdict { text: reports.join("\n"), fix }))
}

/// On the words of an exception; `None` where they do not say that memory ran out.
pub fn of_words(words: &str, colour: Colour) -> Option<Verdict> {
    let log = message::read(words.as_bytes()).ok().filter(|log| !log.reports.is_empty())?;
    Some(Verdict { text: text::message::render(&log, colour), fix: None })
}
