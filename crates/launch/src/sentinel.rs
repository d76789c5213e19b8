//! A process beside the child that does nothing: what ends it was sent to the whole process group.
//!
//! A signal says who sent it, but not whether it was meant for one process or for a group. The child is in our group. If
//! we passed on what the group was sent, it would arrive twice, and many programs take the second for "now, by force".

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use crate::proc;

/// The kernel marks all processes of a group within microseconds. This is for a machine that is overloaded.
const PATIENCE: Duration = Duration::from_millis(25);
const PAUSE: Duration = Duration::from_micros(500);
/// SIGKILL in a mask: what the kernel gives every thread of a process that another signal ends.
const KILL: u64 = 1 << (9 - 1);
/// Of the signals that are passed on, what ends a process that has no use of its own for it.
pub(crate) const FATAL: &[i32] = &[SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2];

/// The process. It ends with us: it waits for the end of a pipe that we hold.
#[derive(Debug)]
pub(crate) struct Sentinel {
    process: Option<Child>,
    /// What ended it before it was known that the child was there.
    doubtful: Option<i32>,
}

impl Sentinel {
    /// Starts it. Where that fails, no signal counts as sent to the group.
    pub(crate) fn start() -> Sentinel {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "ulimit -c 0; read -r _"]).env_clear().current_dir("/");
        let process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Sentinel { process: process.ok(), doubtful: None }
    }

    /// The child has been started. A signal that the group was sent by now may have come before the child, who has not got
    /// it then: it counts as sent to us alone. Where the child has got it, too, a second one does no harm: in its first
    /// moments no program has handlers, so it is ending already.
    pub(crate) fn child_has_begun(&mut self) {
        use std::os::unix::process::ExitStatusExt;
        let Some(process) = &mut self.process else { return };
        let is_alive = matches!(process.try_wait(), Ok(None));
        if is_alive && !FATAL.iter().any(|signal| is_ending(process, *signal)) {
            return;
        }
        let doubtful = process.wait().ok().and_then(|status| status.signal());
        *self = Sentinel::start();
        self.doubtful = doubtful;
    }

    /// Whether `signal`, which has just reached us and by default ends a process, was sent to our group.
    pub(crate) fn was_sent_to_the_group(&mut self, signal: i32) -> bool {
        if self.doubtful.take_if(|doubtful| *doubtful == signal).is_some() {
            return false;
        }
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

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    fn hit(sentinel: &Sentinel) {
        let process = sentinel.process.as_ref().expect("a shell");
        kill_process(Pid::from_child(process), Signal::TERM).expect("it is there");
    }

    #[test]
    fn what_came_before_the_child_is_for_us_to_pass_on() {
        let mut sentinel = Sentinel::start();
        hit(&sentinel);
        sentinel.child_has_begun();
        assert!(!sentinel.was_sent_to_the_group(Signal::TERM.as_raw()));
        hit(&sentinel);
        assert!(sentinel.was_sent_to_the_group(Signal::TERM.as_raw()), "the next one reached the child");
    }

    #[test]
    fn what_comes_after_it_has_reached_it() {
        let mut sentinel = Sentinel::start();
        sentinel.child_has_begun();
        hit(&sentinel);
        assert!(sentinel.was_sent_to_the_group(Signal::TERM.as_raw()));
        assert!(!sentinel.was_sent_to_the_group(Signal::TERM.as_raw()), "nothing hit the next one");
    }
}
