//! Asking a process under `oomph run` to write its recording and go on: it listens for SIGUSR1.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use oomph_machine::run_folder::{self, Notes};
use oomph_trace::sidecar::Why;
use rustix::process::{Pid, Signal, kill_process};

use crate::members::{descendants, run_of};
use crate::proc;

/// How often the folder is looked at.
const PAUSE: Duration = Duration::from_millis(20);
/// SIGUSR1 in the mask of signals that a process catches.
const USR1: u64 = 1 << (10 - 1);

/// A process that can be asked.
struct Listener {
    pid: i32,
    run: PathBuf,
}

/// Asks the process, or those that record below it, and gives the files that were written.
pub fn dump(pid: i32, patience: Duration) -> Result<Vec<PathBuf>> {
    let listeners = listeners_at(pid)?;
    let before: Vec<Option<u64>> =
        listeners.iter().map(|process| dumped_us(process).map(|(at, _)| at)).collect();
    for process in &listeners {
        let Some(number) = Pid::from_raw(process.pid) else { continue };
        if let Err(error) = kill_process(number, Signal::USR1) {
            bail!("cannot signal process {}: {error}", process.pid);
        }
    }
    let end = Instant::now() + patience;
    let mut written = Vec::new();
    for (process, before) in listeners.iter().zip(before) {
        loop {
            match dumped_us(process).filter(|(at, _)| Some(*at) > before) {
                Some((_, path)) => {
                    written.push(path);
                    break;
                }
                None if Instant::now() >= end => bail!(
                    "process {} has not written its recording within {} s: it may be in a long call, \
                     or use SIGUSR1 itself; wait longer with --wait",
                    process.pid,
                    patience.as_secs()
                ),
                None => thread::sleep(PAUSE),
            }
        }
    }
    Ok(written)
}

/// When a process was last asked for its recording, and where that is.
fn dumped_us(process: &Listener) -> Option<(u64, PathBuf)> {
    run_folder::notes(&process.run).into_iter().find_map(|path| {
        let sidecar = Notes::read(&path)?.sidecar;
        let is_it = sidecar.identity.pid == u64::try_from(process.pid).ok() && sidecar.why == Some(Why::Dump);
        Some((sidecar.written_us.filter(|_| is_it)?, path.with_extension("pickle")))
    })
}

/// The process itself if it records; else those below it that do: of `oomph run`, a launcher or a shell.
fn listeners_at(pid: i32) -> Result<Vec<Listener>> {
    if !Path::new(&format!("/proc/{pid}")).exists() {
        bail!("there is no process {pid}");
    }
    let is_secret = fs::read(format!("/proc/{pid}/environ"))
        .is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
    if is_secret {
        bail!("process {pid} is not yours: ask its owner, or use sudo");
    }
    let own = run_of(pid);
    if let Some(run) = own.clone().filter(|_| listens(pid)) {
        return Ok(vec![Listener { pid, run }]);
    }
    let below = descendants(pid).into_iter().filter_map(|pid| Some(Listener { pid, run: run_of(pid)? }));
    let mut listeners: Vec<Listener> = below.collect();
    let in_run = own.is_some() || !listeners.is_empty();
    // A process that does not listen would die of the signal.
    listeners.retain(|process| listens(process.pid));
    if listeners.is_empty() {
        let why = if in_run {
            "belongs to a run, but no Python in it listens"
        } else {
            "was not started by oomph: start it with `oomph run`"
        };
        bail!("process {pid} {why}");
    }
    Ok(listeners)
}

/// Whether it catches SIGUSR1, and is an interpreter rather than what started one.
fn listens(pid: i32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let is_python = program.file_name().is_some_and(|name| name.to_string_lossy().contains("python"));
    proc::signals(pid, "SigCgt") & USR1 != 0 && is_python
}
