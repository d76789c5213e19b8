//! `oomph explain`.

use anyhow::Result;
use oomph_diagnose::explain::explain;
use oomph_diagnose::tune::Search;
use oomph_engine::recording::Recording;
use oomph_report::results::ExplainResult;
use oomph_report::{html, json, text};

use crate::args::{Common, Explain, Source, UsageError};
use crate::input::Input;
use crate::{input, output, parallel};

pub(crate) fn run(args: &Explain, common: &Common) -> Result<()> {
    let colour = output::colour(common);
    let (mut reports, mut documents) = (Vec::new(), Vec::new());
    let mut results: Vec<ExplainResult<'static>> = Vec::new();
    for file in &args.files {
        let mut texts = Vec::new();
        match input::read(file)? {
            Input::Snapshot(snapshot) => {
                let source = Source { file: file.clone(), profile: args.profile };
                for recording in input::recordings(snapshot, &source, args.limit) {
                    // Left to the system like the snapshot it is of.
                    let result = result(Box::leak(Box::new(recording)));
                    texts.push(text::explain::render(&result, colour));
                    documents.push(json::explain(&result));
                    results.push(result);
                }
            }
            Input::Text(log) => {
                texts.push(text::message::render(&log, colour));
                documents.push(json::message(&log));
            }
        }
        if args.files.len() > 1 {
            reports.push(format!("{}\n\n{}", input::shown(file), texts.join("\n")));
        } else {
            reports.append(&mut texts);
        }
    }
    if let Some(page) = &args.html {
        if results.is_empty() {
            return Err(UsageError(
                "--html needs a snapshot: a message alone has nothing to draw".to_owned(),
            )
            .into());
        }
        output::write_file(page, &html::explain(&results), common.force)?;
    }
    let text = if common.json { json::document(documents) } else { reports.join("\n") };
    output::write(&text, common)
}

/// The verdict on one recording.
pub(crate) fn result<'a>(recording: &'a Recording<'a>) -> ExplainResult<'a> {
    let evaluate = |search: &Search<'_>| parallel::evaluate_at_limit(search, &search.shortlist());
    ExplainResult { recording, explanation: explain(recording, &evaluate) }
}
