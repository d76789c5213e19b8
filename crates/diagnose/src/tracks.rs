//! A recording over time: memory in use by class, what was held, steps, phases, and requests that failed.

use oomph_engine::program::OpKind;
use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, EventIdx};

use crate::classes::{Class, Classes};
use crate::phases::Phases;

/// The tracks of one recording. Times are nanoseconds since its first event; where the recording has no clock, each event
/// takes a microsecond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracks {
    /// The GPU's number.
    pub device: i32,
    /// The names of the counters: what was in use by class, or all of it where the recording tells no classes; then what
    /// was held.
    pub counters: Vec<String>,
    /// The counters at moments, in order of time.
    pub points: Vec<(u64, Vec<Bytes>)>,
    /// How many events each point stands for, at most: where it is more than one, of those events the one with the most in
    /// use is shown.
    pub events_per_point: usize,
    /// The steps: from, to, name.
    pub steps: Vec<Slice>,
    /// The phases.
    pub phases: Vec<Slice>,
    /// The requests that failed: when, and how much was asked for.
    pub failures: Vec<(u64, Bytes)>,
}

/// A stretch of time with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it begins.
    pub from: u64,
    /// When it ends.
    pub to: u64,
    /// What it is.
    pub name: String,
}

/// The tracks, with at most this many points.
pub fn of(recording: &Recording, most: usize) -> Tracks {
    let phases = Phases::of(recording);
    let classes = Classes::find(recording, &phases);
    let clock = Clock::of(recording);
    let ops = recording.program.ops.len();
    let events_per_point = ops.div_ceil(most.max(1)).max(1);
    let names = if classes.is_some() {
        Class::ALL.iter().map(|class| format!("in use: {}", class.words())).collect()
    } else {
        vec!["in use".to_owned()]
    };
    let mut sums = vec![Bytes::ZERO; names.len()];
    let place = |id| classes.as_ref().map_or(0, |classes| classes.of(id) as usize);
    let rounding = classes.as_ref().map(|_| Class::Rounding as usize);
    let mut run = recording.run();
    for (id, _, block) in run.live() {
        sums[place(id)] += if rounding.is_some() { block.requested } else { block.size };
    }
    let mut points: Vec<(u64, Vec<Bytes>)> = Vec::new();
    let mut best: Option<(Bytes, u64, Vec<Bytes>)> = None;
    let mut index = 0;
    while let Some((op, _)) = run.step() {
        let allocation = |id: oomph_engine::program::AllocId| recording.program.allocations[id.index()].size;
        match op.kind {
            OpKind::Alloc(id) => sums[place(id)] += allocation(id),
            OpKind::Free(id) | OpKind::Complete(id) => {
                let sum = &mut sums[place(id)];
                *sum = sum.saturating_sub(allocation(id));
            }
            _ => {}
        }
        let counters = run.torch().counters();
        index += 1;
        if best.as_ref().is_none_or(|(most, ..)| counters.active >= *most) {
            let mut values = sums.clone();
            match rounding {
                Some(at) => values[at] = counters.active.saturating_sub(sums.iter().copied().sum()),
                None => values[0] = counters.active,
            }
            values.push(counters.reserved);
            best = Some((counters.active, clock.at(op.event), values));
        }
        if index % events_per_point == 0 || index == ops {
            points.extend(best.take().map(|(_, time, values)| (time, values)));
        }
    }
    points.sort_by_key(|(time, _)| *time);
    let used: Vec<usize> = (0..=names.len())
        .filter(|at| *at == names.len() || points.iter().any(|(_, values)| values[*at] > Bytes::ZERO))
        .collect();
    let names: Vec<String> = names.into_iter().chain(["held".to_owned()]).collect();
    let failures = recording.program.failures.iter();
    Tracks {
        device: recording.trace().device,
        counters: used.iter().map(|at| names[*at].clone()).collect(),
        points: points
            .into_iter()
            .map(|(time, values)| (time, used.iter().map(|at| values[*at]).collect()))
            .collect(),
        events_per_point,
        steps: steps(&phases, &clock),
        phases: stretches(&phases, &clock),
        failures: failures.map(|failed| (clock.at(failed.event), failed.request.size)).collect(),
    }
}

/// When events were.
struct Clock {
    times: Vec<u64>,
}

impl Clock {
    fn of(recording: &Recording) -> Clock {
        let events = &recording.trace().events;
        let first = events.first().map_or(0, |event| event.time_us);
        let ticks = events.iter().any(|event| event.time_us != first);
        let mut latest = 0;
        let time = |(index, event): (usize, &oomph_trace::Event)| {
            let micros = if ticks { event.time_us.saturating_sub(first) } else { index as u64 };
            // Threads may record times out of order.
            latest = latest.max(micros);
            latest.saturating_mul(1000)
        };
        Clock { times: events.iter().enumerate().map(time).collect() }
    }

    /// The time of an event; past the last, a microsecond after it.
    fn at(&self, event: EventIdx) -> u64 {
        let after = || self.times.last().map_or(0, |last| last.saturating_add(1000));
        self.times.get(event.index()).copied().unwrap_or_else(after)
    }

    /// From one event to another, or to the end.
    fn slice(&self, from: EventIdx, next: Option<EventIdx>, name: String) -> Slice {
        Slice { from: self.at(from), to: self.at(next.unwrap_or(EventIdx(u32::MAX))), name }
    }
}

fn steps(phases: &Phases, clock: &Clock) -> Vec<Slice> {
    let steps = phases.steps().into_iter();
    steps.map(|(from, next, step)| clock.slice(from, next, format!("step {step}"))).collect()
}

fn stretches(phases: &Phases, clock: &Clock) -> Vec<Slice> {
    let named = phases.named().into_iter();
    named.map(|(from, next, phase)| clock.slice(from, next, phase.name().to_owned())).collect()
}
