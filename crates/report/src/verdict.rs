//! The verdict on a recording in sentences: what happened, where and when, and what it is of.

use oomph_diagnose::explain::Explanation;
use oomph_diagnose::judge::{Culprit, Cure, Lives, Role};
use oomph_diagnose::results::explain::DeviceResult;

use crate::numbers::{count, counted};
use crate::place::located;
use crate::recording::{self, has_history};

/// What is said where memory ran out and no rule names the cause.
pub(crate) const NO_CAUSE: &str = "the limit cannot be told from this recording; give it with --limit";

/// What happened, in a line.
pub(crate) fn headline(result: &DeviceResult) -> String {
    let device = result.recording.trace().device;
    let peak = result.explanation.moment.counters.active;
    match result.explanation.ooms.first() {
        Some(oom) => {
            let step = oom.step.map(|step| format!(", step {step}")).unwrap_or_default();
            let phase = oom.phase.map(|phase| format!(", {}", phase.name())).unwrap_or_default();
            format!("out of memory on GPU {device}{step}{phase}: {} more was asked for", oom.size)
        }
        None if has_history(&result.recording) => {
            format!("no failure on GPU {device}; the peak in use was {peak}")
        }
        None => format!("GPU {device}: {peak} in use when the snapshot was taken"),
    }
}

/// The moment the report is about, to stand after "Memory".
pub(crate) fn moment(result: &DeviceResult) -> &'static str {
    match result.explanation.ooms.first() {
        Some(_) => "when it failed",
        None if has_history(&result.recording) => "at the peak",
        None => "when the snapshot was taken",
    }
}

/// The labelled facts that come before the findings: where and when it was, and of which recording.
pub(crate) fn facts(result: &DeviceResult) -> Vec<(&'static str, String)> {
    let explanation = &result.explanation;
    let failure = explanation.ooms.first();
    let mut facts = Vec::new();
    if let Some(place) = failure.and_then(|oom| oom.place.as_ref()) {
        facts.push(("Where", located(place)));
    }
    if failure.is_some() || has_history(&result.recording) {
        facts.push(("When", when(result)));
    }
    if let Some(failed) = explanation.moment.failed
        && failed.segment.to_string() != failed.size.to_string()
    {
        let text = format!("PyTorch's message says {}, which is what it asked of the driver", failed.segment);
        facts.push(("Size", text));
    }
    facts.extend(recording::facts(&result.recording));
    facts
}

/// When it was: the step and the phase, where they were marked, and the event.
fn when(result: &DeviceResult) -> String {
    let explanation = &result.explanation;
    let events = count(result.recording.trace().events.len());
    let event = format!("event {} of {events}", count(explanation.moment.event.0));
    let event = match explanation.when {
        Some((Some(step), phase)) => format!("step {step}, {} ({event})", phase.name()),
        Some((None, phase)) => format!("{} ({event})", phase.name()),
        None => event,
    };
    match explanation.ooms.len() {
        0 | 1 => event,
        more => format!("{event}; {} followed", counted(more - 1, "more failure")),
    }
}

/// How a cure is known, and how long the job lives with it.
pub(crate) fn proof(cure: &Cure) -> String {
    let lives = match cure.lives {
        Lives::Unknown => String::new(),
        lives => format!(", lives {}", lives.words()),
    };
    format!("{}{lives}: {}", cure.how.name(), cure.why)
}

/// What a line to blame did.
pub(crate) fn did(culprit: &Culprit) -> String {
    let act = match culprit.role {
        Role::Made => "made here",
        Role::Keeps => "kept here",
        Role::Asked => "asked for here",
    };
    format!("{} {act}", culprit.bytes)
}

/// That lines were lent from step to step, if they were.
pub(crate) fn borrowed(explanation: &Explanation) -> Option<String> {
    let allocations: usize = explanation.borrowed.iter().map(|lender| lender.allocations).sum();
    let from = match explanation.borrowed.as_slice() {
        [] => return None,
        [only] => format!("step {}", only.step),
        [first, second] => format!("steps {} and {}", first.step, second.step),
        [first, .., last] => {
            format!("{} steps from {} to {}", count(explanation.borrowed.len()), first.step, last.step)
        }
    };
    let lines = counted(allocations, "allocation");
    Some(format!("lines of {lines} taken from {from}: stacks are sampled"))
}
