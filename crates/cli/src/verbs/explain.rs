//! `oomph explain`.

use anyhow::Result;
use oomph_diagnose::explain::explain;
use oomph_diagnose::tune::Search;
use oomph_engine::recording::Recording;
use oomph_report::results::ExplainResult;
use oomph_report::{json, text};

use crate::args::{Common, Explain};
use crate::{input, output, parallel};

pub(crate) fn run(args: &Explain, common: &Common) -> Result<()> {
    let snapshot = input::snapshot(&args.source.file)?;
    let recordings = input::recordings(snapshot, &args.source, args.limit);
    let results: Vec<ExplainResult<'_>> = recordings.iter().map(result).collect();
    let text = if common.json {
        json::document(results.iter().map(json::explain).collect())
    } else {
        let colour = output::colour(common);
        let reports: Vec<String> =
            results.iter().map(|result| text::explain::render(result, colour)).collect();
        reports.join("\n")
    };
    output::write(&text, common)
}

/// The verdict on one recording.
pub(crate) fn result<'a>(recording: &'a Recording<'a>) -> ExplainResult<'a> {
    let evaluate = |search: &Search<'_>| parallel::evaluate_at_limit(search, &search.shortlist());
    ExplainResult { recording, explanation: explain(recording, &evaluate) }
}
