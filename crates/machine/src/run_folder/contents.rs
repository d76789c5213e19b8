//! A run's folder in the place of a file: what of it can be explained.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use oomph_diagnose::message;

use super::{LAST, Notes, homes, is_run, notes, recordings, recordings_of};
use crate::file::{self, Content};
use crate::trust;

/// This user's last run in the current directory, if there is one; else somebody's.
pub fn last_run() -> Option<PathBuf> {
    let lasts = || homes().into_iter().map(|home| Path::new(&home).join(LAST)).filter(|last| is_run(last));
    let own = lasts().find(|last| last.canonicalize().is_ok_and(|run| trust::is_ours(&run)));
    own.or_else(|| lasts().next())
}

/// The run that a folder stands for: itself, or of `.oomph` the last; `None` of any other folder.
pub fn run_in(folder: &Path) -> Option<PathBuf> {
    [folder.to_owned(), folder.join(LAST)].into_iter().find(|path| is_run(path))
}

/// What a path holds: a file, or what the processes of a run left in the folder that it is.
pub fn contents(path: &Path) -> Result<Vec<(PathBuf, Content)>> {
    match run_in(path).filter(|_| path.is_dir()) {
        Some(run) => processes(&run),
        None => Ok(vec![(path.to_owned(), file::read(path)?)]),
    }
}

/// What the processes of a run left, each as what can be explained: its recording, or else the words it died with, if
/// they say that memory ran out. Launchers and workers, which used no GPU and died of nothing, are passed over, unless
/// there are no others.
pub fn processes(folder: &Path) -> Result<Vec<(PathBuf, Content)>> {
    let (mut found, mut idle) = (Vec::new(), Vec::new());
    for process in noted(folder) {
        let recordings = recordings_of(&process).into_iter();
        let readable = { recordings }.find_map(|path| Some((path.clone(), file::read(&path).ok()?)));
        let Some(left) = readable.or_else(|| Some((process.clone(), words(&process)?))) else { continue };
        if is_idle(&left.1) { idle.push(left) } else { found.push(left) }
    }
    let all = if found.is_empty() { idle } else { found };
    if all.is_empty() {
        bail!("{}: no process of this run left a recording", folder.display());
    }
    Ok(all)
}

fn is_idle(content: &Content) -> bool {
    let Content::Snapshot(snapshot) = content else { return false };
    snapshot.traces.is_empty() && snapshot.sidecar.as_ref().is_none_or(|sidecar| sidecar.exception.is_none())
}

/// The processes of a run by their notes, and by their recordings where notes are missing.
fn noted(folder: &Path) -> Vec<PathBuf> {
    let mut all = notes(folder);
    let recorded = recordings(folder).into_iter().map(|path| path.with_extension("json"));
    let unnoted: Vec<PathBuf> = recorded.filter(|path| !all.contains(path)).collect();
    all.extend(unnoted);
    all
}

fn words(process: &Path) -> Option<Content> {
    let notes = Notes::read(process)?;
    notes.sidecar.exception.as_ref().filter(|error| message::noted_out_of_memory(error))?;
    message::read(notes.exception_text()?.as_bytes()).ok().map(Content::Text)
}

/// The recording that a path stands for: a file itself; of a run's folder its only recording, or the only one of a
/// process that used a GPU.
pub fn only_recording(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let name = path.display();
    let Some(run) = run_in(path) else { bail!("{name} is a directory: name a file in it") };
    let mut found = recordings(&run);
    if found.iter().any(|path| used_a_gpu(path)) {
        found.retain(|path| used_a_gpu(path));
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

fn used_a_gpu(recording: &Path) -> bool {
    Notes::read(&recording.with_extension("json")).is_some_and(|notes| !notes.sidecar.devices.is_empty())
}
