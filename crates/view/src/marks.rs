//! What is marked on the axis of time: steps, phases, retries, failures, and what the program itself said.

use oomph_diagnose::phases::Phases;
use oomph_engine::recording::Recording;
use oomph_trace::{Action, EventIdx, named};

use crate::lives::Lives;

/// Marks of one kind, at most; the rest is counted.
const MOST: usize = 4000;

named! {
    /// What a mark is.
    MarkKind {
        /// A step begins.
        Step = "step",
        /// A phase.
        Phase = "phase",
        /// The whole cache was released for a request.
        Retry = "retry",
        /// A request failed.
        Failure = "failure",
        /// A named scope of the program: `record_function`.
        Scope = "scope",
        /// What the program said of its allocations: `user_metadata`, or a remark.
        Remark = "remark",
    }
}

/// A mark, in the slots `from..to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What it is.
    pub kind: MarkKind,
    /// Its first slot.
    pub from: u32,
    /// The slot after its last.
    pub to: u32,
    /// What it says.
    pub text: String,
}

/// All marks of a replay, by kind and in order; and how many of each kind are left out because there are too many.
pub fn of(recording: &Recording, phases: &Phases, lives: &Lives) -> (Vec<Mark>, Vec<(MarkKind, usize)>) {
    let slots = lives.slots;
    let span = |kind, from: EventIdx, next: Option<EventIdx>, text| Mark {
        kind,
        from: from.0,
        to: next.map_or(slots, |next| next.0),
        text,
    };
    let steps = phases.steps().into_iter();
    let steps = steps.map(|(from, next, step)| span(MarkKind::Step, from, next, format!("step {step}")));
    let named = phases.named().into_iter();
    let named =
        named.map(|(from, next, phase)| span(MarkKind::Phase, from, next, phase.name().replace('_', " ")));
    let at = |kind, event: EventIdx, text| {
        let from = event.0.min(slots - 1);
        Mark { kind, from, to: from + 1, text }
    };
    let retries =
        lives.retries.iter().map(|event| at(MarkKind::Retry, *event, "the cache was released".to_owned()));
    let failures = lives.failed.iter().map(|failed| {
        at(MarkKind::Failure, failed.event, format!("failed: {} more was asked for", failed.size))
    });
    let all: Vec<Vec<Mark>> = vec![
        steps.collect(),
        named.collect(),
        retries.collect(),
        failures.collect(),
        scopes(recording, slots),
        remarks(recording),
    ];
    let mut left_out = Vec::new();
    let mut marks = Vec::new();
    for mut kind in all {
        if kind.len() > MOST {
            left_out.push((kind[0].kind, kind.len() - MOST));
            kind.truncate(MOST);
        }
        marks.extend(kind);
    }
    (marks, left_out)
}

/// The scopes of this device, matched by name: the last that began is the first to end.
fn scopes(recording: &Recording, slots: u32) -> Vec<Mark> {
    let snapshot = &recording.snapshot;
    let device = recording.trace().device;
    let mut ours: Vec<_> = snapshot.annotations.iter().filter(|note| note.device == device).collect();
    if ours.is_empty() {
        return Vec::new();
    }
    ours.sort_by_key(|note| note.time_us);
    let mut times: Vec<u64> = recording.trace().events.iter().map(|event| event.time_us).collect();
    // Threads may record times out of order; what has begun stays begun.
    for at in 1..times.len() {
        times[at] = times[at].max(times[at - 1]);
    }
    let mut marks: Vec<Mark> = Vec::new();
    let mut open: Vec<(oomph_trace::TextId, usize)> = Vec::new();
    for note in ours {
        let slot = (times.partition_point(|time| *time < note.time_us) as u32).min(slots);
        if note.starts {
            open.push((note.name, marks.len()));
            let text = snapshot.texts.get(note.name).to_owned();
            marks.push(Mark { kind: MarkKind::Scope, from: slot.min(slots - 1), to: slots, text });
        } else if let Some(place) = open.iter().rposition(|(name, _)| *name == note.name) {
            let (_, index) = open.remove(place);
            marks[index].to = slot.max(marks[index].from + 1);
        }
    }
    marks
}

/// Where the program says something else than before.
fn remarks(recording: &Recording) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut last = None;
    for (at, event) in (0u32..).zip(&recording.trace().events) {
        let is_new = event.metadata.is_some() && (event.metadata != last || event.action == Action::Annotate);
        if let Some(text) = event.metadata.filter(|_| is_new) {
            let text = recording.snapshot.texts.get(text).to_owned();
            marks.push(Mark { kind: MarkKind::Remark, from: at, to: at + 1, text });
        }
        if event.metadata.is_some() {
            last = event.metadata;
        }
    }
    marks.retain(|mark| !mark.text.is_empty());
    marks
}
