//! `oomph explain`.

use std::io::{self, IsTerminal};
use std::path::Path;

use anyhow::Result;
use oomph_engine::recording::Known;
use oomph_host::explain::{process, result};
use oomph_host::input::{self, Input};
use oomph_report::results::ExplainResult;
use oomph_report::{html, json, text};

use crate::args::{Common, Explain, UsageError};
use crate::output;

pub(crate) fn run(args: &Explain, common: &Common) -> Result<()> {
    let colour = output::colour(common);
    let (mut reports, mut documents) = (Vec::new(), Vec::new());
    let mut results: Vec<ExplainResult<'static>> = Vec::new();
    for file in &args.files {
        let mut texts = Vec::new();
        if file == Path::new("-") && io::stdin().is_terminal() {
            output::complain("oomph: paste the message, then press Ctrl-D on a line of its own");
        }
        match input::read(file)? {
            Input::Snapshot(snapshot) => {
                let on_a_card = snapshot.traces.iter().any(|trace| trace.device >= 0);
                if let Some(sidecar) = snapshot.sidecar.as_ref().filter(|_| !on_a_card) {
                    let result = process(sidecar);
                    texts.push(text::process::render(&result, colour));
                    documents.push(json::process(&result));
                }
                let known = Known { version: args.profile, limit: args.limit };
                // Left to the system, snapshot and recordings alike: it takes them back faster than we could.
                for recording in input::recordings(Box::leak(snapshot), known) {
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
