//! The sentences that the text reports and the page share.

use oomph_diagnose::advice::{Advice, How};
use oomph_diagnose::cause::Cause;
use oomph_diagnose::explain::Explanation;
use oomph_diagnose::message::{Report, Role};
use oomph_diagnose::moment::Holder;
use oomph_diagnose::place::Place;
use oomph_diagnose::tune::Candidate;
use oomph_engine::program::{OpKind, Origin, Refusal, Unknown};
use oomph_engine::recording::{LimitSource, Recording};
use oomph_trace::{Bytes, Sidecar};

use crate::results::ExplainResult;

/// Groups the digits of a count: 35,846.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A count and its noun: 1 step, 2 steps.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(n))
}

/// Whether there is anything to replay: a bare list of segments shows one moment only.
pub(crate) fn has_history(of: &Recording<'_>) -> bool {
    !of.trace.events.is_empty()
}

/// What happened, in a line.
pub(crate) fn headline(result: &ExplainResult<'_>) -> String {
    let explanation = &result.explanation;
    let device = result.recording.trace.device;
    let peak = explanation.moment.counters.active;
    match explanation.ooms.first() {
        Some(oom) => {
            let step = oom.step.map_or_else(String::new, |step| format!(", step {step}"));
            let step = oom.phase.map_or_else(|| step.clone(), |phase| format!("{step}, {}", phase.name()));
            format!("out of memory on GPU {device}{step}: {} more was asked for", oom.size)
        }
        None if has_history(result.recording) => {
            format!("no failure on GPU {device}; the peak in use was {peak}")
        }
        None => format!("GPU {device}: {peak} in use when the snapshot was taken"),
    }
}

/// When it was: the step and the phase, where they were marked, and the event.
pub(crate) fn when(result: &ExplainResult<'_>) -> String {
    let explanation = &result.explanation;
    let events = count(result.recording.trace.events.len() as u64);
    let event = format!("event {} of {events}", count(u64::from(explanation.moment.event.0)));
    let event = match explanation.when {
        Some((Some(step), phase)) => format!("step {step}, {} ({event})", phase.name()),
        Some((None, phase)) => format!("{} ({event})", phase.name()),
        None => event,
    };
    match explanation.ooms.len() {
        0 | 1 => event,
        more => format!("{event}; {} followed", counted(more as u64 - 1, "more failure")),
    }
}

/// That lines were lent from step to step, if they were.
pub(crate) fn borrowed(explanation: &Explanation) -> Option<String> {
    let allocations: usize = explanation.borrowed.iter().map(|(_, count)| count).sum();
    let from = match explanation.borrowed.as_slice() {
        [] => return None,
        [(step, _)] => format!("step {step}"),
        [(first, _), (second, _)] => format!("steps {first} and {second}"),
        [(first, _), .., (last, _)] => {
            format!("{} steps from {first} to {last}", count(explanation.borrowed.len() as u64))
        }
    };
    let lines = counted(allocations as u64, "allocation");
    Some(format!("lines of {lines} taken from {from}: stacks are sampled"))
}

/// What a message is about, in a line.
pub(crate) fn message_headline(oom: &Report) -> String {
    let device = oom.facts.device.map_or_else(String::new, |device| format!(" on device {device}"));
    let tried = oom.facts.tried.map_or_else(String::new, |tried| format!(": {tried} more was asked for"));
    let framework = oom.framework.name();
    match oom.role {
        Role::Warning => format!("no failure: {framework} went on without{device}{tried}"),
        Role::Culprit | Role::Follows if oom.verdict.cause == Cause::HostMemory => {
            format!("out of host memory ({framework}){tried}")
        }
        Role::Culprit | Role::Follows => format!("out of memory{device} ({framework}){tried}"),
    }
}

/// The user's line that a message's traceback names, and what the job was doing: `train.py:61 main, in forward`.
pub(crate) fn message_place(oom: &Report) -> Option<String> {
    let line = &oom.place.as_ref()?.line;
    let number = if line.line > 0 { format!(":{}", line.line) } else { String::new() };
    let phase = oom.phase.map_or_else(String::new, |phase| format!(", in {}", phase.name()));
    Some(format!("{}{number} {}{phase}", line.file_name(), line.function))
}

/// The moment the report is about, to stand after "Memory".
pub(crate) fn moment(result: &ExplainResult<'_>) -> &'static str {
    match result.explanation.ooms.first() {
        Some(_) => "when it failed",
        None if has_history(result.recording) => "at the peak",
        None => "when the snapshot was taken",
    }
}

/// The device and the size of the recording.
pub(crate) fn run(of: &Recording<'_>) -> String {
    let origin = match of.program.origin {
        Origin::Complete => "from the start",
        Origin::Windowed => "from a later point on",
    };
    let settings = of.setup.options.to_string();
    let settings = if settings.is_empty() { "default settings".to_owned() } else { settings };
    let history = if has_history(of) {
        format!("{} recorded {origin}", counted(of.trace.events.len() as u64, "event"))
    } else {
        "no history, only what is held".to_owned()
    };
    let (device, version) = (of.trace.device, of.setup.profile.version);
    let rank = of.snapshot.sidecar.as_ref().map_or_else(String::new, rank);
    format!("{rank}GPU {device}, {history}, PyTorch {version}, {settings}")
}

/// Which of a job's processes it is, to stand before the device.
pub(crate) fn rank(sidecar: &Sidecar) -> String {
    match (sidecar.identity.rank, sidecar.identity.world_size) {
        (Some(rank), Some(size)) => format!("rank {rank} of {size}, "),
        (Some(rank), None) => format!("rank {rank}, "),
        (None, _) => String::new(),
    }
}

/// What the recording does not tell.
pub(crate) fn unknown(unknown: Unknown) -> String {
    match unknown {
        Unknown::SlackBeforeStart { blocks } => format!(
            "{} in use before the first event may be up to 1 MiB longer than replayed",
            counted(blocks as u64, "block")
        ),
        Unknown::OutsideSegments { events } => {
            format!("{} about memory that no segment accounts for; left out", counted(events as u64, "event"))
        }
    }
}

/// The limit and how it is known.
pub(crate) fn limit(of: &Recording<'_>) -> Option<(Bytes, String)> {
    let ceiling = of.ceiling()?;
    let bounds = &of.program.limit;
    let source = match (of.limit_source, bounds.refusal) {
        (LimitSource::Given, _) => "limit, as given".to_owned(),
        (LimitSource::Recorded, _) if of.setup.capacity.is_none() => "limit, as recorded".to_owned(),
        (LimitSource::GarbageCollection, _) => "limit, inferred from when garbage was collected".to_owned(),
        (_, Some(Refusal::Device { .. })) if of.setup.capacity.is_some() => {
            "what the card could give this process".to_owned()
        }
        (_, _) => match bounds.below {
            Some(below) => format!("limit, inferred: {} was granted, {below} refused", bounds.at_least),
            None => "limit".to_owned(),
        },
    };
    Some((ceiling, source))
}

/// How exactly the recording is reproduced.
pub(crate) fn fidelity(of: &Recording<'_>) -> String {
    match &of.fidelity.divergence {
        None if !has_history(of) => {
            "nothing to replay: call torch.cuda.memory._record_memory_history() at the start of the job"
                .to_owned()
        }
        None => {
            let addresses = of.program.ops.iter().filter(|op| op.kind == OpKind::Alloc).count();
            format!(
                "exact: {} placed where they were recorded, {} and {} the same",
                counted(addresses as u64, "allocation"),
                counted(of.program.driver.len() as u64, "driver call"),
                counted(of.trace.segments.len() as u64, "final segment"),
            )
        }
        Some(parted) => format!(
            "not exact: at event {} the recording shows {}, the replay {}",
            count(u64::from(parted.event.0)),
            parted.recorded,
            parted.replayed
        ),
    }
}

/// The user's line, and the library's it led to: `train.py:61 step, in functional.py:3504`.
pub(crate) fn located(place: &Place) -> String {
    let line = &place.line;
    let own = format!("{}:{} {}", line.file_name(), line.line, line.function);
    match &place.within {
        Some(inner) if own.len() < 34 => format!("{own}, in {}:{}", inner.file_name(), inner.line),
        _ => own,
    }
}

/// What can be said of an allocation without a line. Where stacks were recorded throughout, it was made outside Python.
pub(crate) fn unlined(of: &Recording<'_>) -> &'static str {
    let sampled = of.snapshot.sidecar.as_ref().is_some_and(|sidecar| {
        sidecar.stacks.len() > 1 || sidecar.stacks.iter().any(|span| span.to_us.is_some())
    });
    match (of.snapshot.stacks.is_empty(), sampled) {
        (true, _) => "in use; no stacks were recorded",
        (false, true) => "no line: autograd's threads, C++, steps without stacks",
        (false, false) => "no Python line: autograd's threads and C++",
    }
}

/// Who holds it; `unlined`: what to say where that is not known.
pub(crate) fn holder(holder: &Holder, unlined: &str) -> String {
    holder.place.as_ref().map_or_else(|| unlined.to_owned(), located)
}

/// The settings, or that they are the defaults.
pub(crate) fn settings(candidate: &Candidate) -> String {
    let settings = candidate.options.to_string();
    if settings.is_empty() { "defaults".to_owned() } else { settings }
}

/// What to type to get these settings.
pub(crate) fn instruction(candidate: &Candidate) -> String {
    let settings = candidate.options.to_string();
    if settings.is_empty() {
        "unset PYTORCH_CUDA_ALLOC_CONF".to_owned()
    } else {
        format!("PYTORCH_CUDA_ALLOC_CONF={settings}")
    }
}

/// A change of the program, what it leads to and how that is known.
pub(crate) fn advice(advice: &Advice) -> String {
    let leads_to = match (advice.in_use, advice.helps) {
        (Some(bytes), true) => format!(", {bytes} in use, which fits"),
        (Some(bytes), false) if advice.how == How::Computed && bytes > Bytes::ZERO => {
            format!(", {bytes} still in use")
        }
        _ => String::new(),
    };
    format!("{} ({}{leads_to}): {}", advice.title, advice.how.name(), advice.why)
}

/// What to do about memory that grows, which no setting cures.
pub(crate) fn cure_of_growth(explanation: &Explanation) -> &'static str {
    if explanation.findings.iter().any(|finding| finding.rule == "OOM007") {
        "wrap the evaluation in torch.no_grad() or torch.inference_mode(); no setting cures growth"
    } else {
        "find what keeps the memory of past steps alive; no setting cures growth"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
