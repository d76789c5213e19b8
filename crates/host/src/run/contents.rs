//! A run's folder in the place of a file: what of it can be explained.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use oomph_diagnose::message;

use super::folder::{HOME, is_run_folder, of_failure, recordings};
use super::notes::Notes;
use crate::input::{self, Input};

/// The last run in the current directory, if there is one.
pub fn last_run() -> Option<PathBuf> {
    Some(Path::new(HOME).join("last")).filter(|last| is_run_folder(last))
}

/// The run that a folder stands for: itself, or of `.oomph` the last; `None` of any other folder.
pub fn run_in(folder: &Path) -> Option<PathBuf> {
    [folder.to_owned(), folder.join("last")].into_iter().find(|path| is_run_folder(path))
}

/// What the processes of a run left, each as what can be explained: its recording, or the words it died with. Those
/// that left neither are passed over.
pub fn of_run(folder: &Path) -> Result<Vec<(PathBuf, Input)>> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for notes in Notes::of_run(folder) {
        if let Some(words) = notes.words_beside_recording() {
            found.push((folder.join(&notes.name), Input::Text(message::read(words.as_bytes())?)));
        }
    }
    for path in recordings(folder) {
        let mut problem = None;
        for path in of_failure(&path) {
            match input::read(&path) {
                Ok(input) => {
                    found.push((path, input));
                    problem = None;
                    break;
                }
                Err(error) => problem = Some(error),
            }
        }
        problems.extend(problem);
    }
    match (found.is_empty(), problems.pop()) {
        (true, Some(problem)) if problems.is_empty() => Err(problem),
        (true, _) => bail!(
            "{}: no process of this run used a GPU through PyTorch or ran out of memory",
            folder.display()
        ),
        (false, _) => Ok(found),
    }
}

/// The recording that a run's folder stands for: its only one.
pub fn only_recording(folder: &Path) -> Result<PathBuf> {
    let name = folder.display();
    let Some(run) = run_in(folder) else { bail!("{name} is a directory: name a file in it") };
    let mut found = recordings(&run);
    match found.len() {
        0 => bail!("{name} holds no recording: no process of the run used a GPU through PyTorch"),
        1 => Ok(found.remove(0)),
        several => {
            let names: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
            bail!("{name} holds {several} recordings, name one of them: {}", names.join(", "))
        }
    }
}
