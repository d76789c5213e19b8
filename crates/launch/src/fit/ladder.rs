//! What a job that ran out of memory takes when it is started again: what `oomph fit` found for it, if it did; else one
//! measure more each time, the cheapest first, as far as the program leaves them open.

use std::ffi::OsString;
use std::path::Path;

use oomph_diagnose::results::fit::Measure;
use oomph_machine::run_folder::Notes;
use oomph_trace::Bytes;
use oomph_trace::sidecar::MeasureNotes;

use super::costs;
use super::cut::Cut;
use super::point::{Point, Space};
use super::remembered::Remembered;
use crate::again::Change;
use crate::job::Job;

/// The measures of one job, over its tries.
#[derive(Debug)]
pub struct Ladder {
    /// The script's arguments, as the user wrote them.
    args: Vec<OsString>,
    space: Option<Space>,
    taken: Point,
    setting: Option<String>,
}

impl Ladder {
    /// Before the first try.
    pub fn new(job: &Job) -> Ladder {
        let taken = Point { parts: 1, ..Point::default() };
        Ladder { args: job.program.args.clone(), space: None, taken, setting: None }
    }

    /// What to change after the run in this folder, whose memory was too small. `setting` is one that a replay proved.
    /// `None` where nothing is known that would be more than the run had.
    pub fn next(&mut self, job: &Job, folder: &Path, setting: Option<String>) -> Option<Change> {
        let all = Notes::of_run(folder);
        let dead = all.iter().filter(|notes| notes.ran_out()).min_by_key(|notes| notes.failed_us());
        if self.space.is_none()
            && let Some(dead) = dead
        {
            let had = dead.sidecar.devices.first().and_then(|card| card.limit.or(card.total));
            if let Some(change) = self.recalled(job, folder, had) {
                return Some(change);
            }
            self.space = dead.sidecar.measures.as_ref().map(|notes| open(notes, &self.args));
        }
        let setting = setting.filter(|setting| self.setting.as_ref() != Some(setting));
        if setting.is_some() {
            self.setting.clone_from(&setting);
            return Some(self.change(setting));
        }
        self.taken = more(self.space.as_ref()?, self.taken)?;
        Some(self.change(None))
    }

    /// What a search found for this program in as much memory as it had.
    fn recalled(&mut self, job: &Job, folder: &Path, had: Option<Bytes>) -> Option<Change> {
        let found = Remembered::for_program(job, folder.parent()?, had?)?;
        // In a job that goes on from a checkpoint not every batch can be cut.
        let is_allowed =
            |point: &Point| point.parts <= 1 || found.space.cut.as_ref().is_some_and(Cut::goes_on);
        let fitting = found.trials.iter().filter(|trial| trial.fits && is_allowed(&trial.point));
        let best = found.best.filter(is_allowed);
        let chosen = match best {
            Some(best) => found.trials.iter().find(|trial| trial.point == best),
            None => fitting.min_by_key(|trial| found.space.costs(trial.point)),
        }?;
        self.taken = Point { parts: chosen.point.parts.max(1), ..chosen.point };
        self.setting.clone_from(&chosen.setting);
        self.space = Some(only_going_on(found.space.clone()));
        Some(self.change(chosen.setting.clone()))
    }

    /// The job's next try: all measures that are taken by then.
    fn change(&self, settings: Option<String>) -> Change {
        let space = self.space.clone().unwrap_or_default();
        let mut measures: Vec<Measure> = settings.iter().map(|options| costs::setting(options)).collect();
        measures.extend(space.measures(self.taken));
        Change {
            settings,
            program: Some((space.asked(self.taken), space.args(self.taken, &self.args))),
            measures,
        }
    }
}

/// What a run left open that can be changed in a job that goes on.
fn open(notes: &MeasureNotes, args: &[OsString]) -> Space {
    only_going_on(Space::of(notes, args, None))
}

fn only_going_on(space: Space) -> Space {
    Space { cut: space.cut.filter(Cut::goes_on), ..space }
}

/// One measure more: the optimizer's form, the loss in chunks, half of the blocks, all of them, then twice as many parts of
/// a batch each time, and at last what can be on the host.
fn more(space: &Space, taken: Point) -> Option<Point> {
    if space.form.is_some() && !taken.form {
        return Some(Point { form: true, ..taken });
    }
    if space.chunks && !taken.chunks {
        return Some(Point { chunks: true, ..taken });
    }
    for blocks in [space.blocks.div_ceil(2), space.blocks] {
        if taken.blocks < blocks {
            return Some(Point { blocks, ..taken });
        }
    }
    let parts = space.cut.as_ref().map(Cut::parts).unwrap_or_default();
    if let Some(parts) = parts.into_iter().find(|parts| *parts >= 2 * taken.parts.max(1)) {
        return Some(Point { parts, ..taken });
    }
    ((taken.host as usize) < space.rungs.len()).then_some(Point { host: taken.host + 1, ..taken })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Form;

    fn notes(blocks: u32, batch: Option<u32>) -> MeasureNotes {
        MeasureNotes {
            blocks,
            forms: vec![Form::Fused.name().to_owned()],
            trainer_batch: batch,
            counts_labels: true,
            ..MeasureNotes::default()
        }
    }

    /// All that is taken, one after another.
    #[track_caller]
    fn check(notes: &MeasureNotes, expected: &[&str]) {
        let space = open(notes, &[]);
        let mut taken = Point { parts: 1, ..Point::default() };
        let mut found = Vec::new();
        while let Some(next) = more(&space, taken) {
            assert!(next.covers(taken), "{next:?} takes less than {taken:?}");
            let words: Vec<String> = space.measures(next).into_iter().map(|measure| measure.what).collect();
            found.push(words.join(" + "));
            taken = next;
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn each_try_takes_one_measure_more() {
        check(
            &notes(5, Some(12)),
            &[
                "fused optimizer",
                "fused optimizer + checkpointing of 3 of 5 blocks",
                "fused optimizer + checkpointing of 5 of 5 blocks",
                "fused optimizer + micro-batches of 6, 2 for each batch + checkpointing of 5 of 5 blocks",
                "fused optimizer + micro-batches of 3, 4 for each batch + checkpointing of 5 of 5 blocks",
                "fused optimizer + micro-batches of 1, 12 for each batch + checkpointing of 5 of 5 blocks",
            ],
        );
        check(&MeasureNotes { forms: Vec::new(), ..notes(0, None) }, &[]);
        check(
            &MeasureNotes { batch_norm: true, ..notes(1, Some(8)) },
            &["fused optimizer", "fused optimizer + checkpointing of 1 of 1 blocks"],
        );
    }

    #[test]
    fn batches_that_a_checkpoint_counts_are_not_cut() {
        let lightning = MeasureNotes {
            framework_loop: Some("lightning".to_owned()),
            equal_parts: Some(8),
            ..notes(0, Some(8))
        };
        check(&lightning, &["fused optimizer"]);
    }
}
