//! Whether a job that has ended is started again, and what is changed for it. `--retry` and `--resume` are two answers to
//! that: the first starts a job once more if a setting helps that ran out of the GPU's memory, the second up to so many
//! times one that died of memory or was killed. Where both are asked for, `--resume` decides, and does what `--retry` would.

use std::ffi::OsString;

use oomph_diagnose::cause::Cause;
use oomph_diagnose::results::explain::Explained;
use oomph_diagnose::results::fit::Measure;
use oomph_diagnose::results::run::{RunEnd, RunResult};
use oomph_machine::run_folder::Progress;

use crate::measures::Measures;

/// What the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing is started again.
    Never,
    /// `--retry`.
    IfSettingHelps,
    /// `--resume N`.
    UpTo(u64),
}

impl Wanted {
    /// What the two options say together.
    pub fn of(retry: Option<bool>, resume: Option<u64>) -> Wanted {
        match (resume, retry) {
            (Some(times), _) => Wanted::UpTo(times),
            (None, Some(true)) => Wanted::IfSettingHelps,
            (None, _) => Wanted::Never,
        }
    }
}

/// What follows the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing; and nothing is said.
    End,
    /// Nothing, although the user might expect it; the line says why.
    Refuse(String),
    /// It is started again; the line says so.
    Again {
        /// What is done.
        line: String,
        /// What is changed for it.
        change: Option<Change>,
    },
}

/// What a job is started again with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The settings of PyTorch's allocator to add.
    pub settings: Option<String>,
    /// What is done inside the program, all told, and the script's arguments; `None` leaves both as they are.
    pub program: Option<(Measures, Vec<OsString>)>,
    /// The same in words, with how exactly each keeps the result.
    pub measures: Vec<Measure>,
}

impl Change {
    /// In a line: `fused optimizer (up to rounding) and checkpointing of 6 of 12 blocks (bit for bit)`.
    fn words(&self) -> String {
        let words: Vec<String> = self
            .measures
            .iter()
            .map(|measure| format!("{} ({})", measure.what, measure.exact.name()))
            .collect();
        words.join(" and ")
    }
}

/// The tries of one job.
#[derive(Clone, Debug)]
pub struct Tries {
    wanted: Wanted,
    restarts: u64,
    /// How far the try before got.
    before: Option<Progress>,
    furthest: u64,
}

impl Tries {
    /// Before the first.
    pub fn new(wanted: Wanted) -> Tries {
        Tries { wanted, restarts: 0, before: None, furthest: 0 }
    }

    /// How often the job was started again.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// What follows a run that ended so and got so far. `take` gives what more can be done against the need of memory, where
    /// that was the reason; it is given the setting that a replay proved.
    pub fn next(
        &mut self,
        result: &RunResult,
        progress: Option<Progress>,
        take: impl FnOnce(Option<String>) -> Option<Change>,
    ) -> Next {
        let next = match self.wanted {
            Wanted::Never => Next::End,
            Wanted::IfSettingHelps => self.retry(result),
            Wanted::UpTo(times) => self.resume(result, progress.unwrap_or_default(), times, take),
        };
        if matches!(next, Next::Again { .. }) {
            self.restarts += 1;
        }
        next
    }

    fn retry(&self, result: &RunResult) -> Next {
        if self.restarts > 0 || !matches!(result.end, RunEnd::GpuDeath(_)) {
            return Next::End;
        }
        match setting(&result.end) {
            Some(fix) => {
                let line = format!("running once more with {fix}");
                Next::Again { line, change: Some(Change { settings: Some(fix), ..Change::default() }) }
            }
            None => Next::Refuse("not run again: no setting is known to help".to_owned()),
        }
    }

    fn resume(
        &mut self,
        result: &RunResult,
        progress: Progress,
        times: u64,
        take: impl FnOnce(Option<String>) -> Option<Change>,
    ) -> Next {
        let Some(death) = death(result) else { return Next::End };
        let before = self.before.replace(progress);
        let place = after(progress.reached);
        let furthest = self.furthest;
        self.furthest = furthest.max(progress.reached);
        let is_stuck = before.is_some_and(|before| is_stuck(before, progress, furthest));
        let may_go_on = self.restarts < times;
        let change = if may_go_on && is_too_small(&result.end) { take(setting(&result.end)) } else { None };
        // What needs less memory may get further.
        if is_stuck && (change.is_none() || !may_go_on) {
            let line = format!("not started again {place}: {death}, and it got no further than before");
            return Next::Refuse(line);
        }
        if !may_go_on {
            let line = format!("not started again {place}: {death}, and --resume {times} is used up");
            return Next::Refuse(line);
        }
        let words = change.as_ref().map_or_else(String::new, |change| format!(", with {}", change.words()));
        let number = self.restarts + 1;
        let line = format!("started again ({number} of {times}) {place}{words}: {death}");
        Next::Again { line, change }
    }
}

/// Whether the program needs more than there is, so that needing less helps. Where memory grows without end it only puts
/// the end off, and what others hold is not the program's.
fn is_too_small(end: &RunEnd) -> bool {
    let RunEnd::GpuDeath(death) = end else { return false };
    let mut causes =
        death.results.iter().filter_map(Explained::device).map(|found| found.explanation.cause());
    causes.any(|cause| matches!(cause, Some(Cause::Capacity | Cause::Fragmentation)))
}

/// The setting with which a replay served the request that failed. `None` where none is known, or none is needed.
fn setting(end: &RunEnd) -> Option<String> {
    match end {
        RunEnd::GpuDeath(death) => death.helping_settings(),
        RunEnd::HostDeath(_) | RunEnd::Other => None,
    }
}

/// Why a run died, if memory or a kill was the reason; never for a failure of its own, and not where it calls itself a
/// success.
fn death(result: &RunResult) -> Option<String> {
    if result.exit_code == 0 {
        return None;
    }
    match &result.end {
        RunEnd::GpuDeath(_) => Some("it ran out of memory".to_owned()),
        RunEnd::HostDeath(death) => Some(death.title()),
        RunEnd::Other => None,
    }
}

/// Whether to start again from where this try began would only repeat it: it died at the same step as the one before, or
/// began at the same place and got no further than any.
fn is_stuck(before: Progress, now: Progress, furthest: u64) -> bool {
    now.reached == before.reached || (now.from == before.from && now.reached <= furthest)
}

fn after(steps: u64) -> String {
    match steps {
        0 => "before its first step".to_owned(),
        steps => format!("after step {steps}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oomph_diagnose::results::run::HostDeath;

    fn killed() -> RunResult {
        let end = RunEnd::HostDeath(Box::new(HostDeath { signal: Some(9), ..HostDeath::default() }));
        RunResult { exit_code: 137, folder: "run".into(), end, peaks: Vec::new(), failures: 0 }
    }

    fn failed(exit_code: u8) -> RunResult {
        RunResult { exit_code, end: RunEnd::Other, ..killed() }
    }

    /// What follows tries that were killed, each having begun and ended at these steps.
    #[track_caller]
    fn check(times: u64, tries: &[(u64, u64)], expected: &[&str]) {
        let mut all = Tries::new(Wanted::UpTo(times));
        let found: Vec<String> = tries
            .iter()
            .map(|&(from, reached)| match all.next(&killed(), Some(Progress { from, reached }), |_| None) {
                Next::Again { line, .. } => line.split(") ").next().unwrap_or_default().to_owned(),
                Next::Refuse(line) => line.rsplit(", ").next().unwrap_or_default().to_owned(),
                Next::End => "end".to_owned(),
            })
            .collect();
        assert_eq!(found, expected, "{tries:?}");
    }

    #[test]
    fn a_job_that_gets_further_is_started_as_often_as_allowed() {
        check(
            2,
            &[(0, 150), (100, 170), (100, 190)],
            &["started again (1 of 2", "started again (2 of 2", "and --resume 2 is used up"],
        );
        // Killed earlier than before, but from a later checkpoint.
        check(9, &[(0, 150), (100, 120)], &["started again (1 of 9", "started again (2 of 9"]);
    }

    #[test]
    fn a_job_that_dies_at_the_same_step_is_not_started_a_third_time() {
        let stuck = "and it got no further than before";
        check(9, &[(0, 150), (100, 150)], &["started again (1 of 9", stuck]);
        check(9, &[(0, 0), (0, 0)], &["started again (1 of 9", stuck]);
        check(
            9,
            &[(0, 150), (100, 120), (100, 149)],
            &["started again (1 of 9", "started again (2 of 9", stuck],
        );
    }

    #[test]
    fn a_failure_of_its_own_is_never_started_again() {
        for code in [0, 1, 130, 143] {
            assert_eq!(Tries::new(Wanted::UpTo(3)).next(&failed(code), None, |_| None), Next::End);
        }
        assert_eq!(Tries::new(Wanted::IfSettingHelps).next(&killed(), None, |_| None), Next::End);
        assert_eq!(Tries::new(Wanted::Never).next(&killed(), None, |_| None), Next::End);
    }
}
