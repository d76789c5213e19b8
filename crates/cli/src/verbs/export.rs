//! `oomph export`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use oomph_diagnose::stacks_at_peak::{self, HeldStack};
use oomph_diagnose::tracks;
use oomph_engine::recording::Recording;
use oomph_machine::explain;
use oomph_report::{export, json};

use crate::args::{Common, Export, UsageError};
use crate::output;

/// How many moments a trace shows at most: what its page can still show.
const MOST_POINTS: usize = 100_000;

pub(crate) fn run(args: &Export, common: &Common) -> Result<()> {
    let forms = forms(args);
    for (at, (_, path)) in forms.iter().enumerate() {
        if forms[..at].iter().any(|(_, other)| other == path) {
            return Err(
                UsageError(format!("two formats cannot both be written to {}", path.display())).into()
            );
        }
        output::check_free(path, common.force)?;
    }
    let recordings = explain::recordings(&args.source.file, args.source.known(None))?;
    if recordings.iter().all(|recording| recording.trace().events.is_empty()) {
        bail!(
            "{}: nothing to export, the snapshot has no history: call _record_memory_history() at the start of the job",
            args.source.file.display()
        );
    }
    let mut written = Vec::new();
    for (form, path) in forms {
        let bytes = made(form, &recordings)?;
        output::write_bytes(path, &bytes, common.force)?;
        written.push((form, path.display().to_string(), bytes.len()));
    }
    let text = if common.json {
        json::printed(&json::export(&written))
    } else {
        written.iter().map(|(form, path, _)| format!("{path}: {}\n", hint(form))).collect()
    };
    output::write(&text, common)
}

fn forms(args: &Export) -> Vec<(&'static str, &PathBuf)> {
    let all = [
        ("perfetto", &args.perfetto),
        ("folded", &args.folded),
        ("speedscope", &args.speedscope),
        ("parquet", &args.parquet),
    ];
    all.into_iter().filter_map(|(form, path)| Some((form, path.as_ref()?))).collect()
}

fn made(form: &str, recordings: &[Recording]) -> Result<Vec<u8>> {
    let stacks = || -> Vec<(i32, Vec<HeldStack>)> {
        recordings.iter().map(|recording| (recording.trace().device, stacks_at_peak::of(recording))).collect()
    };
    Ok(match form {
        "perfetto" => {
            let tracks: Vec<_> =
                recordings.iter().map(|recording| tracks::of(recording, MOST_POINTS)).collect();
            export::perfetto(&tracks)
        }
        "folded" => export::folded(&stacks()).into_bytes(),
        "speedscope" => export::speedscope(&stacks()).into_bytes(),
        _ => export::parquet(recordings)?.0,
    })
}

/// What to do with a file.
fn hint(form: &str) -> &'static str {
    match form {
        "perfetto" => "open it in ui.perfetto.dev",
        "folded" => "give it to a program that draws flame graphs",
        "speedscope" => "open it in speedscope.app",
        _ => "ask it with DuckDB, polars or pandas",
    }
}
