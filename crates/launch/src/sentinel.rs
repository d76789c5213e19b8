//! A process beside the child that does nothing: what ends it was sent to the whole process group.
//!
//! A signal says who sent it, but not whether it was meant for one process or for a group. The child is in our group. If
//! we passed on what the group was sent, it would arrive twice, and many programs take the second for "now, by force".

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::proc;

/// The kernel marks all processes of a group within microseconds. This is for a machine that is overloaded.
const PATIENCE: Duration = Duration::from_millis(25);
const PAUSE: Duration = Duration::from_micros(500);
/// SIGKILL in a mask: what the kernel gives every thread of a process that another signal ends.
const KILL: u64 = 1 << (9 - 1);

/// The process. It ends with us: it waits for the end of a pipe that we hold.
#[derive(Debug)]
pub(crate) struct Sentinel {
    process: Option<Child>,
}

impl Sentinel {
    /// Starts it. Where that fails, no signal counts as sent to the group.
    pub(crate) fn start() -> Sentinel {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "ulimit -c 0; read -r _"]).env_clear().current_dir("/");
        let process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Sentinel { process: process.ok() }
    }

    /// Another one, if this one has ended: what ended it came before the child, who has not got it.
    pub(crate) fn anew_if_ended(mut self) -> Sentinel {
        let has_ended = self.process.as_mut().is_some_and(|process| !matches!(process.try_wait(), Ok(None)));
        if has_ended { Sentinel::start() } else { self }
    }

    /// Whether `signal`, which has just reached us and by default ends a process, was sent to our group.
    pub(crate) fn was_sent_to_the_group(&mut self, signal: i32) -> bool {
        let Some(process) = &mut self.process else { return false };
        let end = Instant::now() + PATIENCE;
        let was_sent = loop {
            let is_ending = is_ending(process, signal);
            if is_ending || Instant::now() >= end {
                break is_ending;
            }
            thread::sleep(PAUSE);
        };
        // Somebody else may have ended it.
        if was_sent || !matches!(process.try_wait(), Ok(None)) {
            let _ = process.wait();
            *self = Sentinel::start();
        }
        was_sent
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It may be gone already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn is_ending(process: &mut Child, signal: i32) -> bool {
    use std::os::unix::process::ExitStatusExt;
    if let Ok(Some(status)) = process.try_wait() {
        return status.signal() == Some(signal);
    }
    let pending = proc::signals(process.id(), "SigPnd") | proc::signals(process.id(), "ShdPnd");
    pending & (KILL | 1 << (signal - 1)) != 0
}
