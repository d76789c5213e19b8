//! `oomph explain`.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::Result;
use oomph_diagnose::results::explain::Explained;
use oomph_engine::recording::Known;
use oomph_machine::explain::{self, Found};
use oomph_machine::{file, run_folder};
use oomph_report::{html, json, text};

use crate::args::{Common, Explain, UsageError};
use crate::output;

pub(crate) fn run(args: &Explain, common: &Common) -> Result<()> {
    let known = Known { version: args.profile, limit: args.limit };
    let mut found: Vec<Found> = Vec::new();
    for path in sources(&args.files) {
        if path == Path::new("-") && io::stdin().is_terminal() {
            output::complain("oomph: paste the message, then press Ctrl-D on a line of its own");
        }
        found.extend(explain::path(&path, known)?);
    }
    let colour = output::colour(common);
    let report = |results: &[Explained]| {
        results.iter().map(|result| text::explained(result, colour)).collect::<Vec<String>>().join("\n")
    };
    let text = match (common.json, found.as_slice()) {
        (true, found) => {
            json::document(found.iter().flat_map(|file| &file.results).map(json::explained).collect())
        }
        (false, [file]) => report(&file.results),
        (false, found) => {
            let named = |file: &Found| format!("{}\n\n{}", file::shown(&file.path), report(&file.results));
            found.iter().map(named).collect::<Vec<String>>().join("\n")
        }
    };
    if let Some(path) = &args.html {
        let results: Vec<Explained> = found.into_iter().flat_map(|file| file.results).collect();
        let page = html::page(&results).ok_or_else(|| {
            UsageError("--html needs a snapshot: a message alone has nothing to draw".to_owned())
        })?;
        output::write_file(path, &page, common.force)?;
    }
    output::write(&text, common)
}

/// What is named. Where nothing is: what is piped in, else the last run here, else what is pasted.
fn sources(files: &[PathBuf]) -> Vec<PathBuf> {
    if !files.is_empty() {
        return files.to_vec();
    }
    let last = if io::stdin().is_terminal() { run_folder::last_run() } else { None };
    vec![last.unwrap_or_else(|| PathBuf::from("-"))]
}
