//! The live processes that `oomph run` records: what PyTorch's allocator says in each.
//!
//! Such a process has the folder of its run in its environment. There it keeps its notes, a few seconds old at most.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use oomph_diagnose::growth::growth;
use oomph_diagnose::results::live::{self, Live};
use oomph_diagnose::results::status::{Process, Recorded, RecordedDevice, TorchMemory};
use oomph_trace::sidecar::{Card, Mark};

use super::{process, settings};
use crate::run_folder::{self, Notes};

/// The longest notes of a process that is alive: those that it wrote when somebody last asked for its recording have
/// all marks in them.
const LONGEST: u64 = 4 << 20;

/// A recorded process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// The process, its devices without the driver's numbers.
    pub(super) recorded: Recorded,
    /// The UUID of each of its devices, where it is known.
    pub(super) uuids: Vec<Option<String>>,
}

/// Every recorded process below `/proc`, in order of pid.
pub(super) fn read(proc: &Path, users: &process::Users) -> Vec<Found> {
    process::all(proc).into_iter().filter_map(|pid| of_process(proc, pid, users)).collect()
}

fn of_process(proc: &Path, pid: u32, users: &process::Users) -> Option<Found> {
    let environment = process::environment(proc, pid)?;
    let folder = environment.get(run_folder::VARIABLE)?;
    let entry = process::read(proc, pid, users)?;
    // A process in a container names the folder as it sees it.
    let inside = proc.join(pid.to_string()).join("root").join(folder.trim_start_matches('/'));
    let run = Path::new(folder).file_name()?.to_string_lossy().into_owned();
    let folders = [PathBuf::from(folder), inside];
    let owner = fs::metadata(proc.join(pid.to_string())).ok()?.uid();
    let notes = folders.iter().flat_map(|folder| run_folder::notes(folder));
    // The variable is the process's own, and may name a folder of anybody's.
    let mut own = notes.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.uid() == owner));
    let of_it = |path: &PathBuf| Notes::read_up_to(path, LONGEST).filter(|notes| is_of(notes, &entry.pids));
    let (path, notes) = own.find_map(|path| Some((path.clone(), of_it(&path)?)))?;
    let pulse = path.with_extension("pulse");
    let is_own = fs::symlink_metadata(&pulse).is_ok_and(|found| found.uid() == owner);
    let pulse = if is_own { run_folder::pulse_beside(&path) } else { None };
    let variable = |name: &str| environment.get(name).map(String::as_str);
    let mut found = found(&notes, pulse, pid, run);
    found.recorded.process = entry.process;
    found.recorded.settings = Some(settings::read(variable, found.recorded.torch.as_deref()));
    Some(found)
}

/// Whether the notes are those of a process that goes by one of these pids, here or in its container.
fn is_of(notes: &Notes, pids: &[u32]) -> bool {
    notes.sidecar.identity.pid.is_some_and(|pid| pids.iter().any(|known| u64::from(*known) == pid))
}

fn found(notes: &Notes, pulse: Option<Mark>, pid: u32, run: String) -> Found {
    let sidecar = &notes.sidecar;
    Found {
        uuids: sidecar.devices.iter().map(|card| card.uuid.clone()).collect(),
        recorded: Recorded {
            pid,
            run,
            name: sidecar.identity.name.clone().unwrap_or_else(|| "?".to_owned()),
            rank: sidecar.identity.rank.map(u64::from),
            torch: sidecar.versions.torch.clone(),
            settings: None,
            process: Process::default(),
            live: Live::of(sidecar, pulse),
            devices: sidecar.devices.iter().map(device).collect(),
        },
    }
}

fn device(card: &Card) -> RecordedDevice {
    let stats = &card.stats;
    let limit = live::limit(card);
    RecordedDevice {
        index: card.index,
        gpu: None,
        memory: TorchMemory {
            allocated: stats.allocated.unwrap_or_default(),
            reserved: stats.reserved.unwrap_or_default(),
            peak_allocated: stats.peak_allocated.unwrap_or_default(),
            peak_reserved: stats.peak_reserved.unwrap_or_default(),
            retries: stats.retries.unwrap_or_default(),
            ooms: stats.ooms.unwrap_or_default(),
        },
        limit: limit.map(|(bytes, _)| bytes),
        limited_by: limit.map(|(_, by)| by),
        by_class: card.by_class,
        growth: growth(&card.history, limit.map(|(bytes, _)| bytes)),
        history: card.history.clone(),
    }
}

#[cfg(test)]
mod tests {
    use oomph_trace::sidecar::{Identity, Sidecar};

    use super::*;

    #[test]
    fn notes_are_believed_if_their_pid_is_the_process_s_own_here_or_in_its_container() {
        let notes = |pid| Notes {
            name: "rank1".to_owned(),
            sidecar: Sidecar { identity: Identity { pid, ..Identity::default() }, ..Sidecar::default() },
            recordings: Vec::new(),
        };
        assert!(is_of(&notes(Some(7)), &[4711, 7]));
        assert!(!is_of(&notes(Some(7)), &[8]));
        assert!(!is_of(&notes(None), &[7]));
    }
}
