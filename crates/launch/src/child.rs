//! The child: started with our own standard streams, waited for, and sent on every signal that is meant for it.
//!
//! It stays in our process group, so what the terminal sends (^C, ^\, ^Z, a new size) or a process sends to the group
//! reaches it without us; only what was sent to us alone is passed on. A signal that was ignored when we started stays
//! ignored for both.

use std::io;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};
use signal_hook::consts::signal::{
    SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGWINCH, SIGXFSZ,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

use crate::proc;
use crate::sentinel::{FATAL, Sentinel};

/// What is passed on.
const PASSED_ON: &[i32] = &[SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP];
/// What ends us once the child is gone.
const ENDING: &[i32] = &[SIGTERM, SIGHUP, SIGINT, SIGQUIT];

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(u8),
}

impl Ended {
    /// As a shell reports it.
    pub fn exit_code(self) -> u8 {
        match self {
            Ended::Code(code) => code,
            Ended::Signal(number) => 128 + number,
        }
    }

    fn of(status: ExitStatus) -> Ended {
        use std::os::unix::process::ExitStatusExt;
        let byte = |number: i32| u8::try_from(number & 0x7f).unwrap_or_default();
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Code(u8::try_from(code & 0xff).unwrap_or_default()),
            (None, Some(signal)) => Ended::Signal(byte(signal)),
            (None, None) => Ended::Code(u8::MAX),
        }
    }
}

/// A child that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How.
    pub ended: Ended,
    /// What its number was.
    pub pid: u32,
}

/// Whom signals are for.
#[derive(Clone, Copy, Debug)]
enum Receiver {
    /// Nobody yet; they wait.
    Nobody,
    /// The child, which has not been reaped, so the number is its own.
    Child(Pid),
    /// Us, who still have something to say about the child; this is its exit code.
    Us(u8),
}

/// Listens for signals from its creation on, and passes them to the child that runs.
#[derive(Debug)]
pub struct Signals {
    receiver: Arc<Mutex<Receiver>>,
    was_asked_to_end: Arc<AtomicBool>,
    source: Option<SignalsInfo<WithOrigin>>,
}

impl Signals {
    /// Begins to listen. What arrives before a child runs is kept for it.
    pub fn listen() -> io::Result<Signals> {
        // `nohup` and shells without job control do that.
        let ignored = proc::signals("self", "SigIgn");
        let heard = PASSED_ON.iter().filter(|signal| ignored >> (**signal - 1) & 1 == 0);
        let source = SignalsInfo::<WithOrigin>::new(heard)?;
        // Where files may have no size (`ulimit -f 0`), writing one is an error, and not our end.
        signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        Ok(Signals {
            receiver: Arc::new(Mutex::new(Receiver::Nobody)),
            was_asked_to_end: Arc::new(AtomicBool::new(false)),
            source: Some(source),
        })
    }

    /// Whether somebody wanted us to end (^C, a scheduler): then nothing is started any more.
    pub fn was_asked_to_end(&self) -> bool {
        self.was_asked_to_end.load(Ordering::Relaxed)
    }

    /// Starts the child and waits for its end.
    pub fn run(&mut self, command: &mut Command) -> io::Result<Outcome> {
        // It has to be there before the child: what the group is sent later has reached both.
        let heard = self.source.take().map(|source| (source, Sentinel::start()));
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        *locked(&self.receiver) = Receiver::Child(pid);
        if let Some((mut source, mut sentinel)) = heard {
            sentinel.child_has_begun();
            let receiver = Arc::clone(&self.receiver);
            let was_asked_to_end = Arc::clone(&self.was_asked_to_end);
            thread::spawn(move || {
                for origin in source.forever() {
                    if ENDING.contains(&origin.signal) {
                        was_asked_to_end.store(true, Ordering::Relaxed);
                    }
                    let was_sent = matches!(origin.cause, Cause::Sent(_));
                    let has_it =
                        FATAL.contains(&origin.signal) && sentinel.was_sent_to_the_group(origin.signal);
                    pass_on(origin.signal, was_sent && !has_it, &receiver);
                }
            });
        }
        wait_for_end(pid);
        // From here on its number may be given to another process, as soon as it is reaped.
        let mut receiver = locked(&self.receiver);
        let ended = Ended::of(child.wait()?);
        *receiver = Receiver::Us(ended.exit_code());
        Ok(Outcome { ended, pid: child.id() })
    }
}

fn locked(receiver: &Mutex<Receiver>) -> MutexGuard<'_, Receiver> {
    // A value that is written in one step is whole even if a thread died beside it.
    receiver.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pass_on(signal: i32, is_for_us_alone: bool, receiver: &Mutex<Receiver>) {
    match *locked(receiver) {
        // A shell's `fg` wakes the whole group, a `kill -CONT` only us.
        Receiver::Child(pid) if signal == SIGCONT && !is_stopped(pid) => {}
        Receiver::Child(pid) => {
            if let Some(signal) = Signal::from_named_raw(signal).filter(|_| is_for_us_alone) {
                // It may have ended by itself in the meantime.
                let _ = kill_process(pid, signal);
            }
        }
        Receiver::Us(code) if ENDING.contains(&signal) => std::process::exit(code.into()),
        Receiver::Us(_) | Receiver::Nobody => {}
    }
}

/// Returns when the child has ended, and leaves it to be reaped. Where the terminal stops it, we stop as well, so that
/// the shell sees its job stopped.
fn wait_for_end(pid: Pid) {
    loop {
        let events = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(pid), events) {
            Ok(Some(status)) if status.stopped() => {
                let _ = waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
                let by_terminal = [SIGTSTP, SIGTTIN, SIGTTOU].map(Some).contains(&status.stopping_signal());
                if by_terminal && is_stopped(pid) {
                    let _ = kill_process(getpid(), Signal::STOP);
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return,
        }
    }
}

/// Whether a process is stopped; where that cannot be told, it may be.
fn is_stopped(pid: Pid) -> bool {
    proc::state_and_parent(pid.as_raw_pid()).is_none_or(|(state, _)| state == "T")
}
