//! `oomph explain`.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::Result;
use oomph_engine::recording::Known;
use oomph_host::explain::{process, result};
use oomph_host::input::{self, Input};
use oomph_host::run::contents;
use oomph_report::results::ExplainResult;
use oomph_report::{html, json, text};

use crate::args::{Common, Explain, UsageError};
use crate::output;

pub(crate) fn run(args: &Explain, common: &Common) -> Result<()> {
    let colour = output::colour(common);
    let (mut reports, mut documents) = (Vec::new(), Vec::new());
    let mut results: Vec<ExplainResult<'static>> = Vec::new();
    let inputs = inputs(&args.files)?;
    let several = inputs.len() > 1;
    for (file, input) in inputs {
        let mut texts = Vec::new();
        match input {
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
        if several {
            reports.push(format!("{}\n\n{}", input::shown(&file), texts.join("\n")));
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

/// What the files hold; of a run's folder, what each of its processes left. Where no file is named: what is piped in,
/// else the last run here, else what is pasted.
fn inputs(files: &[PathBuf]) -> Result<Vec<(PathBuf, Input)>> {
    let last = if files.is_empty() && io::stdin().is_terminal() { contents::last_run() } else { None };
    let unnamed = [last.unwrap_or_else(|| PathBuf::from("-"))];
    let mut inputs = Vec::new();
    for file in if files.is_empty() { &unnamed } else { files } {
        if file == Path::new("-") && io::stdin().is_terminal() {
            output::complain("oomph: paste the message, then press Ctrl-D on a line of its own");
        }
        match contents::run_in(file).filter(|_| file.is_dir()) {
            Some(run) => inputs.extend(contents::of_run(&run)?),
            None => inputs.push((file.clone(), input::read(file)?)),
        }
    }
    Ok(inputs)
}
