//! Runs cases one by one and says which of them panicked or never came back.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// No case takes a hundredth of this; one that takes longer hangs.
const DEADLINE: Duration = Duration::from_secs(60);

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The cases of one test.
pub(crate) struct Watch {
    begun: Sender<String>,
    failures: Vec<String>,
    slowest: (Duration, String),
    cases: usize,
}

impl Watch {
    /// Watches from here on: a case that hangs ends the process and says its name.
    pub(crate) fn start() -> Watch {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            panic::set_hook(Box::new(|found| LAST_PANIC.with_borrow_mut(|last| *last = found.to_string())));
        });
        let (begun, cases) = channel::<String>();
        thread::spawn(move || {
            let mut current = String::new();
            loop {
                match cases.recv_timeout(DEADLINE) {
                    Ok(case) => current = case,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        say(&format!("hangs: {current}"));
                        std::process::exit(1);
                    }
                }
            }
        });
        Watch { begun, failures: Vec::new(), slowest: (Duration::ZERO, String::new()), cases: 0 }
    }

    /// Runs one case.
    pub(crate) fn case(&mut self, name: String, run: impl FnOnce()) {
        self.begun.send(name.clone()).unwrap();
        self.cases += 1;
        let start = Instant::now();
        if panic::catch_unwind(AssertUnwindSafe(run)).is_err() {
            self.failures
                .push(format!("{name}\n  {}", LAST_PANIC.with_borrow(|last| last.replace('\n', " "))));
        }
        self.slowest = (start.elapsed(), name).max(std::mem::take(&mut self.slowest));
    }

    /// Fails if any case did.
    pub(crate) fn finish(self) {
        let (took, name) = self.slowest;
        say(&format!("{} cases; the slowest took {took:?}: {name}", self.cases));
        if !self.failures.is_empty() {
            let shown = self.failures.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
            say(&format!("{} of {} cases panicked:\n{shown}", self.failures.len(), self.cases));
            panic!("{} of {} cases panicked", self.failures.len(), self.cases);
        }
    }
}

/// The panic hook is replaced, so a test prints here; the text is shown if the test fails.
#[allow(clippy::print_stderr)]
fn say(text: &str) {
    eprintln!("{text}");
}
