//! Two recordings, or two runs, to compare: read, and paired process by process and card by card.

use std::path::Path;

use anyhow::{Result, bail};
use oomph_diagnose::place::Line;
use oomph_diagnose::results::diff::DiffResult;
use oomph_engine::recording::{Known, Recording};

use crate::file::{self, Content};
use crate::run_folder;
use crate::source;

/// What two paths hold, compared.
#[derive(Debug)]
pub struct Compared {
    /// A result for each pair of recordings.
    pub results: Vec<DiffResult>,
    /// What has no counterpart, by name.
    pub alone: Vec<String>,
}

/// One card of one process.
struct Part {
    /// What it is called in messages.
    name: String,
    /// The process, by its rank or its name in the run, and the card.
    key: (Option<u32>, String, i32),
    recording: Recording,
}

/// Compares what two files or two runs' folders hold. One recording on each side is one pair, whatever they are called;
/// of several, those of the same rank (or the same process) and the same card.
pub fn paths(a: &Path, b: &Path) -> Result<Compared> {
    let (mut a, mut b) = (parts(a)?, parts(b)?);
    let mut compared = Compared { results: Vec::new(), alone: Vec::new() };
    if let ([one], [other]) = (a.as_slice(), b.as_slice()) {
        compared.results.push(result(one, other));
        return Ok(compared);
    }
    a.sort_by(|x, y| x.key.cmp(&y.key));
    for part in &a {
        match b.iter().position(|other| other.key == part.key) {
            Some(at) => compared.results.push(result(part, &b.remove(at))),
            None => compared.alone.push(part.name.clone()),
        }
    }
    compared.alone.extend(b.into_iter().map(|part| part.name));
    if compared.results.is_empty() {
        bail!(
            "nothing to compare: no rank or card is in both; name one recording of each: {}",
            compared.alone.join(", ")
        );
    }
    Ok(compared)
}

fn result(a: &Part, b: &Part) -> DiffResult {
    let text = |line: &Line| source::line(line);
    DiffResult::of((&a.recording, &a.name), (&b.recording, &b.name), &text)
}

fn parts(path: &Path) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for (path, content) in run_folder::contents(path)? {
        let Content::Snapshot(snapshot) = content else { continue };
        let process = path.file_stem().unwrap_or_default().to_string_lossy().replace(".oom", "");
        let who = snapshot.sidecar.as_ref().map(|sidecar| &sidecar.identity);
        let rank = who.and_then(|who| who.rank);
        let process = rank.map_or(process, |_| String::new());
        let recordings = Recording::all(*snapshot, Known::default());
        let recorded = recordings.into_iter().filter(|recording| !recording.trace().events.is_empty());
        parts.extend(recorded.map(|recording| Part {
            name: file::shown(&path),
            key: (rank, process.clone(), recording.trace().device),
            recording,
        }));
    }
    if parts.is_empty() {
        bail!(
            "{}: nothing to compare, there is no history of a GPU's memory in it: record it with `oomph run`",
            file::shown(path)
        );
    }
    Ok(parts)
}
