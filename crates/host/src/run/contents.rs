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
/// they say that memory ran out. Launchers and workers, which used no GPU and died of nothing, are passed over, unless
/// there is nobody else.
pub fn of_run(folder: &Path) -> Result<Vec<(PathBuf, Input)>> {
    let (mut found, mut idle) = (Vec::new(), Vec::new());
    for process in processes(folder) {
        let readable = of_failure(&process).find_map(|path| Some((path.clone(), input::read(&path).ok()?)));
        let Some(left) = readable.or_else(|| Some((process.clone(), words(&process)?))) else { continue };
        if is_idle(&left.1) { idle.push(left) } else { found.push(left) }
    }
    let all = if found.is_empty() { idle } else { found };
    if all.is_empty() {
        bail!("{}: no process of this run left a recording", folder.display());
    }
    Ok(all)
}

fn is_idle(input: &Input) -> bool {
    let Input::Snapshot(snapshot) = input else { return false };
    snapshot.traces.is_empty() && snapshot.sidecar.as_ref().is_none_or(|said| said.exception.is_none())
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
    let notes = Notes::read(process)
        .filter(|notes| notes.said.exception.as_ref().is_some_and(message::noted_out_of_memory))?;
    message::read(notes.exception_text()?.as_bytes()).ok().map(Input::Text)
}

/// The recording of a run that tells most: of the process that ran out of memory first, else of one in which a request
/// failed and went on, else of the first process.
pub fn most_telling_recording(folder: &Path) -> Result<PathBuf> {
    let run = run_in(folder).unwrap_or_else(|| folder.to_owned());
    let order = |process: &PathBuf| {
        let notes = Notes::read(process);
        let ran_out = notes.as_ref().filter(|notes| notes.ran_out()).map(Notes::failed_us);
        (ran_out.is_none(), ran_out, notes.is_none_or(|notes| notes.said.ooms.is_empty()))
    };
    let mut recorded = processes(&run);
    recorded.retain(|process| of_failure(process).next().is_some());
    let found =
        recorded.iter().min_by_key(|process| order(process)).and_then(|process| of_failure(process).next());
    let Some(found) = found else {
        bail!("{} holds no recording: name a file, or a folder that `oomph run` made", folder.display());
    };
    Ok(found)
}

/// The recording that a run's folder stands for: its only one, or the only one of a process that used a GPU.
pub fn only_recording(folder: &Path) -> Result<PathBuf> {
    let name = folder.display();
    let Some(run) = run_in(folder) else { bail!("{name} is a directory: name a file in it") };
    let mut found = recordings(&run);
    if found.len() > 1 && found.iter().any(|path| used_a_card(path)) {
        found.retain(|path| used_a_card(path));
    }
    match found.len() {
        0 => bail!("{name} holds no recording: no process of the run used PyTorch"),
        1 => Ok(found.remove(0)),
        several => {
            let names: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
            bail!("{name} holds {several} recordings, name one of them: {}", names.join(", "))
        }
    }
}

fn used_a_card(recording: &Path) -> bool {
    Notes::read(&recording.with_extension("json")).is_some_and(|notes| !notes.said.devices.is_empty())
}
