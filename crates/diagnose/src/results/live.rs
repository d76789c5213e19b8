//! What a job under `oomph run` is doing while it runs, as its recorder notes it.

use oomph_trace::Bytes;
use oomph_trace::named;
use oomph_trace::sidecar::{Card, Mark, MarkKind, MemorySample, Sidecar};

/// Steps are counted over the last of this.
const RATE_US: u64 = 60_000_000;

named! {
    /// What a job is doing.
    Activity {
        /// Steps of less than a second, in which phases pass too fast to be told.
        Training = "training",
        /// A forward pass, or whatever is none of the others.
        Forward = "forward",
        /// A backward pass.
        Backward = "backward",
        /// An optimizer's step.
        Optimizer = "optimizer",
        /// The model is set to evaluation.
        Evaluation = "evaluation",
    }
}

named! {
    /// What bounds the memory that PyTorch can come to hold.
    LimitedBy {
        /// A limit of its own: `oomph run --limit` or `--gpu`, or `set_per_process_memory_fraction`.
        Limit = "limit",
        /// The card, with what others hold on it.
        Card = "card",
    }
}

/// What a job is doing. What is not known is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    /// When it began, in microseconds since the epoch.
    pub started_us: Option<u64>,
    /// When its figures were noted.
    pub noted_us: Option<u64>,
    /// How many steps are done.
    pub steps: Option<u64>,
    /// Steps a second, over the last minute or the last two notes.
    pub steps_per_second: Option<f64>,
    /// What it is doing.
    pub activity: Option<Activity>,
    /// Since when; for [`Activity::Training`], when the last step was noted.
    pub since_us: Option<u64>,
}

impl Live {
    /// What the notes of a process say, and its pulse, which may be newer.
    pub fn of(sidecar: &Sidecar, pulse: Option<Mark>) -> Live {
        let noted = sidecar.marks.last().copied();
        let last = [noted, pulse].into_iter().flatten().max_by_key(|mark| mark.time_us);
        let rates = sidecar.devices.iter().filter_map(|card| rate(&card.history));
        let steps_per_second = rates.reduce(f64::max);
        let is_fast = steps_per_second.is_some_and(|rate| rate > 1.0);
        Live {
            started_us: sidecar.started_us,
            noted_us: sidecar.written_us,
            steps: last.map(|mark| mark.number),
            steps_per_second,
            activity: last.map(|mark| activity(mark.kind, is_fast)),
            since_us: last.map(|mark| mark.time_us),
        }
    }
}

fn activity(kind: MarkKind, is_fast: bool) -> Activity {
    match kind {
        MarkKind::Eval => Activity::Evaluation,
        _ if is_fast => Activity::Training,
        MarkKind::Backward => Activity::Backward,
        MarkKind::Optimizer => Activity::Optimizer,
        MarkKind::Step | MarkKind::BackwardEnd | MarkKind::OptimizerEnd | MarkKind::Train => {
            Activity::Forward
        }
    }
}

fn rate(history: &[MemorySample]) -> Option<f64> {
    let (last, before) = history.split_last()?;
    let is_recent = |sample: &&MemorySample| last.time_us.saturating_sub(sample.time_us) <= RATE_US;
    let first = before.iter().find(is_recent).or(before.last())?;
    let (steps, us) = (last.step.checked_sub(first.step)?, last.time_us.checked_sub(first.time_us)?);
    (us > 0).then(|| steps as f64 * 1e6 / us as f64)
}

/// What PyTorch can come to hold on a card, and what bounds it: its own limit, or what is free and what it holds already.
pub fn limit(card: &Card) -> Option<(Bytes, LimitedBy)> {
    let there = card.free.zip(card.stats.reserved).map(|(free, held)| (free + held, LimitedBy::Card));
    let own = card.limit.map(|limit| (limit, LimitedBy::Limit));
    [own, there].into_iter().flatten().min_by_key(|(bytes, _)| *bytes)
}

#[cfg(test)]
mod tests {
    use oomph_trace::sidecar::Stats;

    use super::*;

    fn sample(seconds: u64, step: u64) -> MemorySample {
        let zero = Bytes::ZERO;
        MemorySample {
            time_us: seconds * 1_000_000,
            step,
            allocated: zero,
            reserved: zero,
            peak_allocated: zero,
        }
    }

    fn mark(time_us: u64, kind: MarkKind, number: u64) -> Mark {
        Mark { time_us, kind, number }
    }

    fn job(history: Vec<MemorySample>, marks: Vec<Mark>) -> Sidecar {
        let card = Card { history, ..Card::default() };
        Sidecar { devices: vec![card], marks, started_us: Some(1), written_us: Some(2), ..Sidecar::default() }
    }

    #[test]
    fn steps_are_counted_over_the_last_minute_or_the_last_two_notes() {
        let rate = |history: Vec<MemorySample>| Live::of(&job(history, Vec::new()), None).steps_per_second;
        assert_eq!(rate(Vec::new()), None);
        assert_eq!(rate(vec![sample(10, 5)]), None);
        assert_eq!(rate(vec![sample(0, 0), sample(100, 5), sample(130, 125), sample(150, 205)]), Some(4.0));
        assert_eq!(rate(vec![sample(0, 0), sample(200, 1), sample(400, 2)]), Some(0.005));
        assert_eq!(rate(vec![sample(10, 9), sample(10, 9)]), None);
        assert_eq!(rate(vec![sample(10, 9), sample(12, 3)]), None);
    }

    #[test]
    fn of_the_notes_and_the_pulse_the_later_counts() {
        let slow = || vec![sample(0, 0), sample(20, 2)];
        let noted = vec![mark(20, MarkKind::OptimizerEnd, 1), mark(21, MarkKind::Step, 2)];
        let found = |pulse| {
            let live = Live::of(&job(slow(), noted.clone()), pulse);
            (live.steps, live.activity, live.since_us)
        };
        assert_eq!(found(None), (Some(2), Some(Activity::Forward), Some(21)));
        let backward = mark(30, MarkKind::Backward, 2);
        assert_eq!(found(Some(backward)), (Some(2), Some(Activity::Backward), Some(30)));
        let older = mark(10, MarkKind::Optimizer, 1);
        assert_eq!(found(Some(older)), (Some(2), Some(Activity::Forward), Some(21)));
        let evaluates = mark(31, MarkKind::Eval, 2);
        assert_eq!(found(Some(evaluates)).1, Some(Activity::Evaluation));
        assert_eq!(Live::of(&Sidecar::default(), None), Live::default());
    }

    #[test]
    fn phases_of_fast_steps_are_not_told_but_evaluation_is() {
        let fast = vec![sample(0, 0), sample(20, 200)];
        let activity = |kind| Live::of(&job(fast.clone(), vec![mark(1, kind, 200)]), None).activity;
        assert_eq!(activity(MarkKind::Step), Some(Activity::Training));
        assert_eq!(activity(MarkKind::Optimizer), Some(Activity::Training));
        assert_eq!(activity(MarkKind::Eval), Some(Activity::Evaluation));
    }

    #[test]
    fn the_tighter_of_limit_and_card_bounds_a_job() {
        let card = |limit: Option<u64>, free: Option<u64>| {
            let stats = Stats { reserved: Some(Bytes::gib(4)), ..Stats::default() };
            Card { limit: limit.map(Bytes::gib), free: free.map(Bytes::gib), stats, ..Card::default() }
        };
        assert_eq!(limit(&card(Some(8), Some(60))), Some((Bytes::gib(8), LimitedBy::Limit)));
        assert_eq!(limit(&card(Some(80), Some(60))), Some((Bytes::gib(64), LimitedBy::Card)));
        assert_eq!(limit(&card(None, Some(1))), Some((Bytes::gib(5), LimitedBy::Card)));
        assert_eq!(limit(&card(None, None)), None);
    }
}
