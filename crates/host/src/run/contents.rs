//! A run's folder in the place of a file: what of it can be explained.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use oomph_diagnose::message;

use super::folder::{HOME, is_run_folder, notes, of_failure, recordings};
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

/// What the processes of a run left, each as what can be explained: its recording, or else the words it died with, if
/// they say that memory ran out. Those that left neither are passed over.
pub fn of_run(folder: &Path) -> Result<Vec<(PathBuf, Input)>> {
    let mut found = Vec::new();
    for process in processes(folder) {
        let readable = of_failure(&process).find_map(|path| Some((path.clone(), input::read(&path).ok()?)));
        found.extend(readable.or_else(|| Some((process.clone(), words(&process)?))));
    }
    if found.is_empty() {
        let name = folder.display();
        bail!("{name}: no process of this run used a GPU through PyTorch or ran out of memory");
    }
    Ok(found)
}

/// The processes of a run by their notes, and by their recordings where notes are missing.
fn processes(folder: &Path) -> Vec<PathBuf> {
    let mut all = notes(folder);
    let recorded = recordings(folder).into_iter().map(|path| path.with_extension("json"));
    let unnoted: Vec<PathBuf> = recorded.filter(|path| !all.contains(path)).collect();
    all.extend(unnoted);
    all
}

fn words(process: &Path) -> Option<Input> {
    let notes =
        Notes::read(process).filter(|notes| notes.said.exception.as_ref().is_some_and(|error| error.oom))?;
    message::read(notes.exception_text()?.as_bytes()).ok().map(Input::Text)
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
