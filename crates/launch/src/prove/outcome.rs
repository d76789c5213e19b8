//! What two runs say together: of the script as it is, and of its copy with a change.

use oomph_diagnose::steps::{Beat, Kept, kept};
use oomph_lint::Measured;
use oomph_trace::Bytes;
use oomph_trace::sidecar::Stop;

use crate::plan::answer;
use crate::plan::trial::Trial;

/// Less of a difference than this is none: 1%.
const WORTH: u64 = 100;

/// What is taken from a run.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    kept: Vec<Kept>,
    /// The most that was in use.
    needs: Bytes,
    runs_out: bool,
    /// Whether the time was over before the script was.
    is_cut: bool,
}

impl Seen {
    /// What a run shows, or why it shows nothing, in a line.
    pub(super) fn of(trial: &Trial) -> Result<Seen, String> {
        let runs_out = trial.failure.as_ref().is_some_and(|(class, text)| {
            class.contains("OutOfMemory") || text.contains("CUDA out of memory")
        });
        if let Some(why) = answer::failure(trial).filter(|_| !runs_out) {
            return Err(why);
        }
        let needs = trial.peaks.map(|peaks| peaks.allocated).filter(|needs| *needs > Bytes::ZERO);
        Ok(Seen {
            kept: trial.recording.as_ref().map(kept).unwrap_or_default(),
            needs: needs.ok_or_else(|| answer::NO_GPU.to_owned())?,
            runs_out,
            is_cut: trial.stopped == Some(Stop::Time),
        })
    }

    fn measured(&self, keeps: Option<Bytes>) -> Measured {
        Measured { keeps, needs: self.needs, runs_out: self.runs_out }
    }

    /// What stays with every step, told apart as in the other run.
    fn keeps(&self, beat: Beat, steps: usize) -> Option<Bytes> {
        let same = |kept: &&Kept| kept.beat == beat && (beat == Beat::Marked || kept.steps == steps);
        self.kept.iter().find(same).map(|kept| kept.per_step)
    }
}

/// The two measured alike, and why that is no proof; `None` where it is one.
pub(super) fn compared(before: &Seen, after: &Seen) -> (Measured, Measured, Option<String>) {
    let pairs = || before.kept.iter().filter_map(|kept| Some((kept, after.keeps(kept.beat, kept.steps)?)));
    let lowers = |had: Bytes, has: Bytes| has + Bytes(had.0.div_ceil(WORTH)) <= had && had > has;
    // Of several kinds of step, the one that shows most.
    let growing = pairs()
        .filter(|(kept, has)| kept.grows && lowers(kept.per_step, *has))
        .max_by_key(|(kept, has)| kept.per_step.saturating_sub(*has));
    let had = before.measured(growing.map(|(kept, _)| kept.per_step));
    let has = after.measured(growing.map(|(_, has)| has));
    let is_proved = (before.runs_out && !after.runs_out)
        || growing.is_some()
        || (!before.runs_out && !before.is_cut && !after.is_cut && lowers(before.needs, after.needs));
    let why = (!is_proved).then(|| {
        if before.is_cut || after.is_cut {
            "the time was over before the script was: give it less to do, after `--`, or more with --timeout"
                .to_owned()
        } else {
            format!("no less is needed: {} as it is, {} then", before.needs, after.needs)
        }
    });
    (had, has, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(per_step: u64, grows: bool, needs: u64) -> Seen {
        let kept = vec![Kept { beat: Beat::Marked, steps: 20, per_step: Bytes::mib(per_step), grows }];
        Seen { kept, needs: Bytes::mib(needs), runs_out: false, is_cut: false }
    }

    #[test]
    fn less_kept_a_step_or_a_lower_peak_is_a_proof_and_nothing_else_is() {
        let why = |before: &Seen, after: &Seen| compared(before, after).2;
        assert_eq!(why(&seen(8, true, 300), &seen(0, false, 300)), None);
        assert_eq!(why(&seen(0, false, 300), &seen(0, false, 200)), None);
        let same = "no less is needed: 300.00 MiB as it is, 300.00 MiB then";
        assert_eq!(why(&seen(8, true, 300), &seen(8, true, 300)).as_deref(), Some(same));
        assert_eq!(
            why(&seen(0, false, 300), &seen(0, false, 299)).as_deref(),
            Some("no less is needed: 300.00 MiB as it is, 299.00 MiB then")
        );
    }

    #[test]
    fn a_run_that_was_cut_says_nothing_of_the_peak() {
        let cut = |seen: Seen| Seen { is_cut: true, ..seen };
        let why = |before: &Seen, after: &Seen| compared(before, after).2;
        assert_eq!(why(&cut(seen(8, true, 300)), &cut(seen(0, false, 200))), None);
        assert!(why(&cut(seen(0, false, 300)), &seen(0, false, 200)).is_some());
    }

    #[test]
    fn a_change_that_lets_it_live_is_a_proof() {
        let out = Seen { runs_out: true, ..seen(0, false, 300) };
        assert_eq!(compared(&out, &seen(0, false, 300)).2, None);
        assert!(compared(&out, &out).2.is_some());
    }
}
