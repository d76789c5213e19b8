//! `.oomph/<run>/`: what the processes of a run left, and how it is found again. Here alone is known how files in it
//! are called.
//!
//! | file | what it is |
//! |---|---|
//! | `run.json` | what the run was asked for; its presence makes a folder a run's |
//! | `NAME.json` | the notes of a process: [`Notes`] |
//! | `NAME.oom.pickle` | its recording of the moment it ran out of memory, where it went on afterwards |
//! | `NAME.pickle` | its recording of its end |
//! | `progress` | how far the job is, where it may be started again: [`Progress`] |
//!
//! A process is called `rank0`, `main`, or by its number.

mod notes;
mod contents;
mod progress;
mod pulse;

use std::fs;
use std::path::{Path, PathBuf};

pub use contents::{contents, last_run, only_recording, processes, run_in};
pub use notes::{Notes, sidecar_of};
pub use progress::Progress;
pub use pulse::pulse_beside;

/// The folder beside the user's files that holds all runs.
pub const HOME: &str = ".oomph";
/// The folders that may hold this user's runs. The second is for a directory where somebody else has runs of his own.
pub fn homes() -> [String; 2] {
    [HOME.to_owned(), format!("{HOME}-{}", rustix::process::geteuid().as_raw())]
}

/// The link in it to the last run.
pub const LAST: &str = "last";
/// The file that says what a run was asked for.
pub const REQUEST: &str = "run.json";
/// The variable that leads every process of a run to its folder.
pub const VARIABLE: &str = "OOMPH_RUN";

/// Whether a path is a run's folder, or a link to one.
pub fn is_run(path: &Path) -> bool {
    path.join(REQUEST).is_file()
}

/// The files of one process's notes, ranks by number, then the main process, then the others by name.
pub fn notes(folder: &Path) -> Vec<PathBuf> {
    named(folder, "json")
}

/// The recordings of processes' ends, in the same order.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let is_whole =
        |path: &PathBuf| path.file_stem().is_some_and(|name| Path::new(name).extension().is_none());
    named(folder, "pickle").into_iter().filter(is_whole).collect()
}

/// What to explain a process by, best first: the recording of the moment it ran out of memory, which is there if it
/// went on afterwards, and the one of its end. `file` is any of the process's files.
fn recordings_of(file: &Path) -> Vec<PathBuf> {
    let all = ["oom.pickle", "pickle"].map(|suffix| file.with_extension(suffix));
    all.into_iter().filter(|path| path.is_file()).collect()
}

/// How many files of a folder are looked at: several for each process of a large run.
const MOST_FILES: usize = 20_000;

fn named(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).into_iter().flatten().take(MOST_FILES).flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter(|path| path.file_name().is_some_and(|name| name != REQUEST))
        .collect();
    found.sort_by_key(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let rank = name.strip_prefix("rank").and_then(|rank| rank.parse::<u64>().ok());
        (rank.is_none(), rank, name != "main", name)
    });
    found
}
