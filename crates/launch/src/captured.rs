//! A program whose output is taken and not shown. It has a process group of its own, which ends with it, or when it is told
//! to.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How long a group has to end by itself once it is told to.
const GRACE: Duration = Duration::from_secs(1);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// The processes of one program. The number is there as long as it is theirs.
#[derive(Debug)]
pub struct Group(Mutex<Option<Pid>>);

impl Group {
    fn number(&self) -> MutexGuard<'_, Option<Pid>> {
        // A value that is written in one step is whole even if a thread died beside it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.number().is_none()
    }

    fn send(&self, signal: Signal) {
        if let Some(number) = *self.number() {
            // They may have ended by themselves.
            let _ = kill_process_group(number, signal);
        }
    }
}

/// Tells them to end, and ends those that have not done so a second later. Returns when that is done.
pub fn end(groups: &[Arc<Group>]) {
    let all = |signal: Signal| groups.iter().for_each(|group| group.send(signal));
    all(Signal::TERM);
    let began = Instant::now();
    while began.elapsed() < GRACE && groups.iter().any(|group| !group.is_over()) {
        thread::sleep(LOOK);
    }
    all(Signal::KILL);
}

/// A program under way.
#[derive(Debug)]
pub struct Captured {
    child: Child,
    group: Arc<Group>,
    out: JoinHandle<Vec<u8>>,
    err: JoinHandle<Vec<u8>>,
}

impl Captured {
    /// Starts it. It reads this input, or nothing.
    pub fn start(command: &mut Command, input: Option<String>) -> io::Result<Captured> {
        let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut child =
            command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
        if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
            // One that does not read all of it says so itself.
            thread::spawn(move || pipe.write_all(input.as_bytes()));
        }
        Ok(Captured {
            out: all_of(child.stdout.take()),
            err: all_of(child.stderr.take()),
            group: Arc::new(Group(Mutex::new(Some(Pid::from_child(&child))))),
            child,
        })
    }

    /// What it takes to end it.
    pub fn group(&self) -> Arc<Group> {
        Arc::clone(&self.group)
    }

    /// Waits for its end, and ends what it has left in its group.
    pub fn wait(mut self) -> io::Result<Output> {
        let pid = Pid::from_child(&self.child);
        let ended = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        while matches!(ended(), Err(rustix::io::Errno::INTR)) {}
        self.group.send(Signal::KILL);
        // From here on the number may be given to others, as soon as the child is reaped.
        let mut number = self.group.number();
        let status = self.child.wait()?;
        *number = None;
        drop(number);
        let taken = |reader: JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
        Ok(Output { status, stdout: taken(self.out), stderr: taken(self.err) })
    }
}

fn all_of(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came before an error is all there is.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::proc;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_exit_code_are_taken_and_input_is_read() -> io::Result<()> {
        let output =
            Captured::start(&mut shell("cat; echo no >&2; exit 3"), Some("yes".to_owned()))?.wait()?;
        assert_eq!((output.stdout, output.stderr), (b"yes".to_vec(), b"no\n".to_vec()));
        assert_eq!(output.status.code(), Some(3));
        let without = Captured::start(&mut shell("cat"), None)?.wait()?;
        assert_eq!(without.stdout, b"");
        Ok(())
    }

    #[test]
    fn what_it_started_ends_with_it() -> io::Result<()> {
        // The one in the background would hold standard output open for a minute.
        let began = Instant::now();
        let output = Captured::start(&mut shell("sleep 60 & echo done"), None)?.wait()?;
        assert_eq!(output.stdout, b"done\n");
        assert!(began.elapsed() < Duration::from_secs(30));
        Ok(())
    }

    #[test]
    fn one_that_does_not_listen_is_ended_all_the_same() -> io::Result<()> {
        let deaf = Captured::start(&mut shell("trap '' TERM; sleep 60; sleep 60"), None)?;
        let other = Captured::start(&mut shell("sleep 60"), None)?;
        while proc::signals(deaf.child.id(), "SigIgn") >> (Signal::TERM.as_raw() - 1) & 1 == 0 {
            thread::sleep(LOOK);
        }
        let groups = [deaf.group(), other.group()];
        let ended_by = [deaf, other].map(|program| thread::spawn(move || program.wait()));
        end(&groups);
        let ended_by = ended_by.map(|program| program.join().ok()?.ok()?.status.signal());
        assert_eq!(ended_by, [Signal::KILL, Signal::TERM].map(|signal| Some(signal.as_raw())));
        assert!(groups.iter().all(|group| group.is_over()));
        Ok(())
    }
}
