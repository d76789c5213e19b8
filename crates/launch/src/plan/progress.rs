//! What is being run, and how many runs there are: a line for whoever waits.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the runs of a plan. Those to come are counted as far as they are known.
pub(super) struct Progress<'a> {
    say: &'a (dyn Fn(&str) + Sync),
    begun: AtomicUsize,
    expected: AtomicUsize,
}

impl<'a> Progress<'a> {
    /// None yet. `say` is told of each.
    pub(super) fn new(say: &'a (dyn Fn(&str) + Sync)) -> Progress<'a> {
        Progress { say, begun: AtomicUsize::new(0), expected: AtomicUsize::new(0) }
    }

    /// So many more will come.
    pub(super) fn expect(&self, runs: usize) {
        self.expected.fetch_add(runs, Ordering::Relaxed);
    }

    /// So many of those expected will not.
    pub(super) fn forget(&self, runs: usize) {
        self.expected.fetch_sub(runs, Ordering::Relaxed);
    }

    /// One begins, and says itself what it does.
    pub(super) fn begin_silently(&self) -> usize {
        self.begun.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// One begins: `run 3 of 7: bf16 autocast`.
    pub(super) fn begin(&self, what: &str) {
        let number = self.begin_silently();
        let all = self.expected.load(Ordering::Relaxed).max(number);
        (self.say)(&format!("run {number} of {all}: {what}"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn runs_are_numbered_and_never_more_than_there_are() {
        let said = Mutex::new(Vec::new());
        let say = |line: &str| said.lock().expect("one thread").push(line.to_owned());
        let progress = Progress::new(&say);
        progress.expect(1);
        progress.begin_silently();
        progress.expect(4);
        progress.begin("bf16 autocast");
        progress.forget(3);
        progress.begin("gradient checkpointing");
        assert_eq!(
            *said.lock().expect("one thread"),
            ["run 2 of 5: bf16 autocast", "run 3 of 3: gradient checkpointing"]
        );
    }
}
