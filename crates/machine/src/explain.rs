//! From what the user names, a file, a run's folder or a text, to what is explained of it: the one way for every verb
//! and for Python.

use std::path::Path;

use anyhow::Result;
use oomph_diagnose::message;
use oomph_diagnose::results::explain::{Explained, FileResult};
use oomph_engine::recording::{Known, Recording};

use crate::cores;
use crate::file::{self, Content};
use crate::run_folder::{self, Notes};
use crate::source;

/// Explains a file, standard input for `-`, or everything that the processes of a run left in its folder.
pub fn path(path: &Path, known: Known) -> Result<Vec<FileResult>> {
    let results = run_folder::contents(path)?.into_iter();
    Ok(results
        .map(|(path, content)| FileResult { name: file::shown(&path), results: of(content, known) })
        .collect())
}

/// Explains a text that may report an error.
pub fn text(text: &str) -> Result<Explained> {
    Ok(Explained::Text(message::read(text.as_bytes())?))
}

/// Explains a process that ran out of memory: by its recording, or, where that does not show the failure (another
/// framework, or memory that PyTorch's allocator does not manage), by the words of its exception. Empty where neither
/// says that memory ran out.
pub fn process(notes: &Notes) -> Vec<Explained> {
    let recorded = notes.recordings.iter().filter_map(|path| match file::read(path).ok()? {
        content @ Content::Snapshot(_) => {
            let devices = of(content, Known::default()).into_iter();
            Some(devices.filter(|result| result.device().is_some() && result.ran_out()).collect())
        }
        Content::Text(_) => None,
    });
    let mut recorded = recorded.filter(|results: &Vec<Explained>| !results.is_empty());
    let words = || text(&notes.exception_text()?).ok().filter(Explained::ran_out);
    recorded.next().unwrap_or_else(|| words().into_iter().collect())
}

fn of(content: Content, known: Known) -> Vec<Explained> {
    match content {
        Content::Snapshot(snapshot) => {
            let mut results = Explained::snapshot(*snapshot, known, &cores::evaluate_shortlist);
            results.iter_mut().for_each(|result| result.quote(&source::line));
            results
        }
        Content::Text(log) => vec![Explained::Text(log)],
    }
}

/// The recordings in a file, on standard input for `-`, or in a run's folder, one for each GPU.
pub fn recordings(path: &Path, known: Known) -> Result<Vec<Recording>> {
    Ok(Recording::all(file::snapshot(&run_folder::only_recording(path)?)?, known))
}
