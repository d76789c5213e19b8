//! `oomph explain`.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::Result;
use oomph_diagnose::results::explain::FileResult;
use oomph_machine::{explain, run_folder};
use oomph_report::text::explain::NoSection;
use oomph_report::text::{self, Section};
use oomph_report::{html, json};

use crate::args::{Common, Explain, UsageError};
use crate::output;

pub(crate) fn run(args: &Explain, common: &Common) -> Result<()> {
    let sections = sections(&args.sections, common)?;
    let known = args.recorded.known();
    let mut files: Vec<FileResult> = Vec::new();
    for path in sources(&args.files) {
        if path == Path::new("-") && io::stdin().is_terminal() {
            output::complain("oomph: paste the message, then press Ctrl-D on a line of its own");
        }
        files.extend(explain::path(&path, known)?);
    }
    if let Some(path) = &args.html {
        let page = html::page(&files).ok_or_else(|| {
            UsageError("--html needs a snapshot: a message alone has nothing to draw".to_owned())
        })?;
        output::write_file(path, &page, common.force)?;
    }
    let text = if common.json {
        json::files(&files)
    } else {
        text::files(&files, &sections, output::colour(common))
    };
    output::write(&text, common)
}

/// The sections that are asked for; all where none is.
fn sections(names: &[String], common: &Common) -> Result<Vec<Section>, UsageError> {
    if names.is_empty() {
        return Ok(Section::ALL.to_vec());
    }
    if common.json {
        return Err(UsageError("--section is for the text: the JSON has all of them".to_owned()));
    }
    let known = |name: &String| name.trim().parse().map_err(|error: NoSection| UsageError(error.to_string()));
    names.iter().map(known).collect()
}

/// What is named. Where nothing is: what is piped in, else the last run here, else what is pasted.
fn sources(files: &[PathBuf]) -> Vec<PathBuf> {
    if !files.is_empty() {
        return files.to_vec();
    }
    let last = if output::is_piped_into() { None } else { run_folder::last_run() };
    vec![last.unwrap_or_else(|| PathBuf::from("-"))]
}
