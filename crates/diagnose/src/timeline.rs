//! The counters over a whole recording, thinned to what a chart can show.

use oomph_engine::counters::Counters;
use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, EventIdx};

/// One counter as a step function: each value holds from its event to the next point's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Curve {
    /// The points, in order; neighbours differ in value.
    pub points: Vec<(EventIdx, Bytes)>,
}

impl Curve {
    /// The greatest value from `from` to before `to`, the one that holds at `from` included.
    pub fn greatest(&self, from: EventIdx, to: EventIdx) -> Bytes {
        let begin = self.points.partition_point(|(at, _)| *at <= from).saturating_sub(1);
        let within = self.points[begin.min(self.points.len())..].iter();
        within
            .take_while(|(at, _)| *at < to || *at <= from)
            .map(|(_, bytes)| *bytes)
            .max()
            .unwrap_or_default()
    }
}

/// What a recording held, from its first event to its last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// How many events there are.
    pub events: usize,
    /// Of [`Counters::allocated`].
    pub allocated: Curve,
    /// Of [`Counters::active`].
    pub active: Curve,
    /// Of [`Counters::reserved`].
    pub reserved: Curve,
}

/// Replays the recording as it was. Each curve has at most `most` points: the events are put into equal buckets, of
/// which the least, the greatest and the last value stay.
pub fn of(recording: &Recording, most: usize) -> Timeline {
    let events = recording.trace().events.len();
    let buckets = (most / 3).saturating_sub(1).max(1);
    let width = (events.div_ceil(buckets) as u32).max(1);
    let mut samplers = [(); 3].map(|()| Sampler::new(width));
    let mut push = |at: EventIdx, counters: &Counters| {
        let values = [counters.allocated, counters.active, counters.reserved];
        for (sampler, value) in samplers.iter_mut().zip(values) {
            sampler.push(at, value);
        }
    };
    let mut run = recording.run();
    push(EventIdx(0), run.torch().counters());
    while let Some((op, _)) = run.step() {
        push(op.event, run.torch().counters());
    }
    let [allocated, active, reserved] = samplers.map(Sampler::finish);
    Timeline { events, allocated, active, reserved }
}

/// A value, and how many came before it: one event may have several.
#[derive(Clone, Copy, Debug)]
struct Sample {
    nth: usize,
    at: EventIdx,
    value: Bytes,
}

#[derive(Debug)]
struct Sampler {
    width: u32,
    pushed: usize,
    /// The least, the greatest and the last of the bucket under way.
    kept: Option<[Sample; 3]>,
    curve: Curve,
}

impl Sampler {
    fn new(width: u32) -> Sampler {
        Sampler { width, pushed: 0, kept: None, curve: Curve::default() }
    }

    fn push(&mut self, at: EventIdx, value: Bytes) {
        let sample = Sample { nth: self.pushed, at, value };
        self.pushed += 1;
        if self.kept.is_some_and(|[_, _, last]| last.at.0 / self.width != at.0 / self.width) {
            self.flush();
        }
        let [least, greatest, _] = self.kept.unwrap_or([sample; 3]);
        let least = if value < least.value { sample } else { least };
        let greatest = if value > greatest.value { sample } else { greatest };
        self.kept = Some([least, greatest, sample]);
    }

    fn flush(&mut self) {
        let Some(mut kept) = self.kept.take() else { return };
        kept.sort_by_key(|sample| sample.nth);
        for sample in kept {
            if self.curve.points.last().is_none_or(|(_, value)| *value != sample.value) {
                self.curve.points.push((sample.at, sample.value));
            }
        }
    }

    fn finish(mut self) -> Curve {
        self.flush();
        self.curve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(width: u32, values: &[(u32, u64)]) -> Vec<(u32, u64)> {
        let mut sampler = Sampler::new(width);
        for (at, value) in values {
            sampler.push(EventIdx(*at), Bytes(*value));
        }
        sampler.finish().points.into_iter().map(|(at, value)| (at.0, value.0)).collect()
    }

    #[test]
    fn least_greatest_and_last_of_a_bucket_stay_in_their_order() {
        let values = [(0, 5), (1, 9), (2, 6), (3, 1), (4, 4), (5, 3), (10, 3), (11, 7)];
        assert_eq!(sampled(10, &values), [(1, 9), (3, 1), (5, 3), (11, 7)]);
        assert_eq!(sampled(1, &values), [(0, 5), (1, 9), (2, 6), (3, 1), (4, 4), (5, 3), (11, 7)]);
    }

    #[test]
    fn the_greatest_of_a_stretch_counts_what_holds_at_its_start() {
        let points = [(0, 5), (4, 2), (8, 3)].map(|(at, value)| (EventIdx(at), Bytes(value))).to_vec();
        let curve = Curve { points };
        let greatest = |from, to| curve.greatest(EventIdx(from), EventIdx(to)).0;
        assert_eq!([greatest(2, 3), greatest(2, 6), greatest(5, 8), greatest(5, 9)], [5, 5, 2, 3]);
        assert_eq!(Curve::default().greatest(EventIdx(0), EventIdx(9)), Bytes::ZERO);
    }
}
