//! Steps and phases as the recorder marked them: which one each event belongs to.

use oomph_engine::recording::Recording;
use oomph_trace::EventIdx;
use oomph_trace::sidecar::{Mark, MarkKind};

use crate::phase::Phase;

/// Events that follow each other in one phase of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its first event; it reaches to the next stretch.
    pub from: EventIdx,
    /// The step, counted from 1.
    pub step: u64,
    /// The phase.
    pub phase: Phase,
}

/// The stretches of a recording, in order; none where nothing was marked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    stretches: Vec<Stretch>,
    trains: bool,
}

impl Phases {
    /// The stretches of this device's events.
    pub fn of(recording: &Recording) -> Phases {
        let marks = recording.snapshot.sidecar.as_ref().map_or(&[][..], |sidecar| &sidecar.marks);
        let mut marks = marks.to_vec();
        marks.sort_by_key(|mark| mark.time_us);
        let trains = marks.iter().any(|mark| match mark.kind {
            MarkKind::Step => mark.number > 0,
            MarkKind::Backward | MarkKind::BackwardEnd | MarkKind::Optimizer | MarkKind::OptimizerEnd => true,
            MarkKind::Train | MarkKind::Eval => false,
        });
        let times = recording.trace().events.iter().map(|event| event.time_us);
        Phases { stretches: stretches(&marks, times), trains }
    }

    /// All of them.
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// The stretch an event lies in; `None` before the first mark.
    pub fn at(&self, event: EventIdx) -> Option<Stretch> {
        self.index_at(event).map(|index| self.stretches[index])
    }

    /// The place of that stretch among all.
    pub(crate) fn index_at(&self, event: EventIdx) -> Option<usize> {
        self.stretches.partition_point(|stretch| stretch.from <= event).checked_sub(1)
    }

    /// Whether anything was ever trained. Without a backward pass or an optimizer there is only one step, which never
    /// ends, so its number means nothing.
    pub fn trains(&self) -> bool {
        self.trains
    }

    /// The step of an event, counted from 1, in a program that trains.
    pub fn step_at(&self, event: EventIdx) -> Option<u64> {
        self.at(event).filter(|_| self.trains).map(|stretch| stretch.step)
    }

    /// The phase of an event, where it says something: in a program that trains, or in evaluation.
    pub fn phase_at(&self, event: EventIdx) -> Option<Phase> {
        self.at(event).map(|stretch| stretch.phase).filter(|phase| self.trains || *phase == Phase::Evaluation)
    }

    /// Where backward passes have just ended, within these events.
    pub(crate) fn backward_ends(&self, from: EventIdx, to: EventIdx) -> Vec<EventIdx> {
        let pairs = self.stretches.windows(2).filter(|pair| pair[0].phase == Phase::Backward);
        let ends = pairs.filter(|pair| pair[1].phase != Phase::Backward).map(|pair| pair[1].from);
        ends.filter(|end| (from..to).contains(end)).collect()
    }

    /// The steps of a program that trains: where each begins, where the next does, and its number.
    pub fn steps(&self) -> Vec<(EventIdx, Option<EventIdx>, u64)> {
        let starts = if self.trains { self.step_starts() } else { Vec::new() };
        let nexts = starts.iter().skip(1).map(|(next, _)| Some(*next)).chain([None]);
        starts.iter().zip(nexts).map(|((from, number), next)| (*from, next, *number)).collect()
    }

    /// The stretches whose phase says something: where each begins, where the next stretch does, and the phase.
    pub fn named(&self) -> Vec<(EventIdx, Option<EventIdx>, Phase)> {
        let nexts = self.stretches.iter().skip(1).map(|next| Some(next.from)).chain([None]);
        let says = |(stretch, next): (&Stretch, _)| Some((stretch.from, next, self.phase_at(stretch.from)?));
        self.stretches.iter().zip(nexts).filter_map(says).collect()
    }

    /// Where each step begins, and its number.
    pub(crate) fn step_starts(&self) -> Vec<(EventIdx, u64)> {
        let steps = self.stretches.chunk_by(|a, b| a.step == b.step);
        steps.map(|step| (step[0].from, step[0].step)).collect()
    }
}

/// An event belongs to the marks up to its time. Threads may record times out of order; what has begun stays begun.
fn stretches(marks: &[Mark], times: impl Iterator<Item = u64>) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut ahead = marks.iter().peekable();
    let (mut step, mut backward, mut optimizer, mut evaluation) = (None, false, false, false);
    for (index, time) in times.enumerate() {
        let mut changed = false;
        while let Some(mark) = ahead.next_if(|mark| mark.time_us <= time) {
            changed = true;
            match mark.kind {
                MarkKind::Step => {
                    step = Some(mark.number.saturating_add(1));
                    (backward, optimizer) = (false, false);
                }
                MarkKind::Backward => backward = true,
                MarkKind::BackwardEnd => backward = false,
                MarkKind::Optimizer => optimizer = true,
                MarkKind::OptimizerEnd => optimizer = false,
                MarkKind::Train => evaluation = false,
                MarkKind::Eval => evaluation = true,
            }
        }
        let Some(step) = step.filter(|_| changed) else { continue };
        let phase = match (optimizer, backward, evaluation) {
            (true, _, _) => Phase::Optimizer,
            (false, true, _) => Phase::Backward,
            (false, false, true) => Phase::Evaluation,
            (false, false, false) => Phase::Forward,
        };
        if stretches.last().is_none_or(|last| (last.step, last.phase) != (step, phase)) {
            stretches.push(Stretch { from: EventIdx(index as u32), step, phase });
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(marks: &[(u64, MarkKind, u64)], times: &[u64]) -> String {
        let marks: Vec<Mark> = marks
            .iter()
            .map(|(time_us, kind, number)| Mark { time_us: *time_us, kind: *kind, number: *number })
            .collect();
        let shown = stretches(&marks, times.iter().copied());
        let shown = shown.iter().map(|s| format!("{}:{} {}", s.from.0, s.step, s.phase.name()));
        shown.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn events_belong_to_the_marks_up_to_their_time() {
        use MarkKind::{Backward, BackwardEnd, Optimizer, OptimizerEnd, Step};
        let marks = [
            (10, Step, 0),
            (20, Backward, 0),
            (30, BackwardEnd, 0),
            (30, Optimizer, 0),
            (40, OptimizerEnd, 0),
            (41, Step, 1),
            (90, Backward, 1),
        ];
        let times = [5, 10, 19, 20, 25, 30, 39, 40, 41, 50];
        let expected = "1:1 forward, 3:1 backward, 5:1 optimizer, 7:1 forward, 8:2 forward";
        assert_eq!(drawn(&marks, &times), expected);
        // A phase without events leaves no trace, and time that goes back takes nothing back.
        assert_eq!(drawn(&marks, &[11, 31, 25, 95]), "0:1 forward, 1:1 optimizer, 3:2 backward");
        assert_eq!(drawn(&marks, &[0, 0, 0]), "");
    }

    #[test]
    fn evaluation_lasts_until_training_goes_on_and_a_backward_pass_may_lie_in_it() {
        use MarkKind::{Backward, BackwardEnd, Eval, Step, Train};
        let marks =
            [(1, Step, 0), (2, Eval, 0), (4, Backward, 0), (5, BackwardEnd, 0), (7, Train, 0), (9, Step, 3)];
        let expected = "0:1 forward, 1:1 evaluation, 3:1 backward, 4:1 evaluation, 6:1 forward, 8:4 forward";
        assert_eq!(drawn(&marks, &[1, 2, 3, 4, 5, 6, 7, 8, 9]), expected);
    }
}
