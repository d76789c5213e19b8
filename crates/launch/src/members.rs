//! The processes of a run: all that have its folder in their environment, whoever is their parent by now.

use std::io;
use std::path::{Path, PathBuf};

use oomph_machine::run_folder;
use oomph_machine::status::process;
use rustix::process::{Pid, Signal, getpid, kill_process};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::proc;

/// Processes that are being ended may start others; after so many rounds there are none left, or one cannot be ended.
const ROUNDS: usize = 20;

/// The folder of the run that a process belongs to.
pub(crate) fn run_of(pid: i32) -> Option<PathBuf> {
    let environment = process::environment(Path::new("/proc"), u32::try_from(pid).ok()?)?;
    environment.get(run_folder::VARIABLE).map(PathBuf::from)
}

/// Listens for signals that end this process, as long as it lives.
#[must_use]
#[derive(Debug)]
pub struct EndWithUs(signal_hook::iterator::Handle);

impl Drop for EndWithUs {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// From here on, what ends this process ends all that it has started and that belongs to a run.
pub fn end_with_us() -> io::Result<EndWithUs> {
    before_we_end(|| {
        for pid in descendants(getpid().as_raw_pid()) {
            if let Some(run) = run_of(pid) {
                end(&run);
            }
        }
    })
}

/// From here on, what ends this process has this done first.
pub fn before_we_end(first: impl Fn() + Send + 'static) -> io::Result<EndWithUs> {
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
    let handle = signals.handle();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            first();
            // As if there had been nobody listening.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    Ok(EndWithUs(handle))
}

/// Ends what is left of a run: workers, daemons, what they have started. Runs in folders within its own go on.
pub fn end(folder: &Path) {
    for _ in 0..ROUNDS {
        let is_of_run =
            |pid: &i32| *pid != getpid().as_raw_pid() && run_of(*pid).is_some_and(|run| run == folder);
        let found: Vec<Pid> = proc::all().filter(is_of_run).filter_map(Pid::from_raw).collect();
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

/// All processes below this one, those of lower numbers first.
pub(crate) fn descendants(root: i32) -> Vec<i32> {
    let parent = |pid| Some((pid, proc::state_and_parent(pid)?.1));
    let parents: Vec<(i32, i32)> = proc::all().filter_map(parent).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(above) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        next += 1;
    }
    found.remove(0);
    found.sort_unstable();
    found
}
