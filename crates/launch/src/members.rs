//! The processes of a run: all that have its folder in their environment, whoever is their parent by now.

use std::path::{Path, PathBuf};

use oomph_machine::run_folder;
use oomph_machine::status::process;
use rustix::process::{Pid, Signal, getpid, kill_process};

/// Processes that are being ended may start others; after so many rounds there are none left, or one cannot be ended.
const ROUNDS: usize = 20;

/// The folder of the run that a process belongs to.
pub(crate) fn run_of(pid: i32) -> Option<PathBuf> {
    let environment = process::environment(Path::new("/proc"), u32::try_from(pid).ok()?)?;
    environment.get(run_folder::VARIABLE).map(PathBuf::from)
}

/// Ends what is left of a run, and of runs in folders within its own: workers, daemons, what they have started.
pub fn end(folder: &Path) {
    for _ in 0..ROUNDS {
        let all = process::all(Path::new("/proc")).into_iter().filter_map(|pid| i32::try_from(pid).ok());
        let is_of_run = |pid: &i32| {
            *pid != getpid().as_raw_pid() && run_of(*pid).is_some_and(|run| run.starts_with(folder))
        };
        let found: Vec<Pid> = all.filter(is_of_run).filter_map(Pid::from_raw).collect();
        if found.is_empty() {
            return;
        }
        for pid in found {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
