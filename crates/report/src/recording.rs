//! What reports say of a recording: what it is of, its limit, and how exactly it can be replayed.

use oomph_engine::program::{Origin, Refusal, Unknown};
use oomph_engine::recording::{LimitSource, Recording};
use oomph_trace::{Bytes, Sidecar};

use crate::numbers::{count, counted};
use crate::settings;

/// Whether there is anything to replay: a bare list of segments shows one moment only.
pub(crate) fn has_history(of: &Recording) -> bool {
    !of.trace().events.is_empty()
}

/// The device and the size of the recording.
pub(crate) fn run(of: &Recording) -> String {
    let origin = match of.program.origin {
        Origin::Complete => "from the start",
        Origin::Windowed => "from a later point on",
    };
    let history = if has_history(of) {
        format!("{} recorded {origin}", counted(of.trace().events.len(), "event"))
    } else {
        "no history, only what is held".to_owned()
    };
    let settings = settings::named(&of.setup.options, "default settings");
    let (device, version) = (of.trace().device, of.setup.profile.version);
    let rank = of.snapshot.sidecar.as_ref().and_then(rank).map(|rank| rank + ", ").unwrap_or_default();
    format!("{rank}GPU {device}, {history}, PyTorch {version}, {settings}")
}

/// Which of a job's processes it is.
pub(crate) fn rank(sidecar: &Sidecar) -> Option<String> {
    let rank = sidecar.identity.rank?;
    let of = sidecar.identity.world_size.map(|size| format!(" of {size}")).unwrap_or_default();
    Some(format!("rank {rank}{of}"))
}

/// The labelled facts about a recording: what it is, and what it does not tell.
pub(crate) fn facts(of: &Recording) -> Vec<(&'static str, String)> {
    let unknown = of.program.unknown.iter().map(|unknown| ("Unknown", not_told(*unknown)));
    std::iter::once(("Run", run(of))).chain(unknown).collect()
}

fn not_told(unknown: Unknown) -> String {
    match unknown {
        Unknown::SlackBeforeStart(blocks) => format!(
            "{} in use before the first event may be up to 1 MiB longer than replayed",
            counted(blocks, "block")
        ),
        Unknown::OutsideSegments(events) => {
            format!("{} about memory that no segment accounts for; left out", counted(events, "event"))
        }
    }
}

/// The limit and how it is known.
pub(crate) fn limit(of: &Recording) -> Option<(Bytes, String)> {
    let ceiling = of.ceiling()?;
    let bounds = &of.program.limit;
    let source = match (of.limit_source, bounds.refusal) {
        (Some(LimitSource::Given), _) => "limit, as given".to_owned(),
        (Some(LimitSource::Recorded), _) if of.setup.capacity.is_none() => "limit, as recorded".to_owned(),
        (Some(LimitSource::GarbageCollection), _) => {
            "limit, inferred from when garbage was collected".to_owned()
        }
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
pub(crate) fn fidelity(of: &Recording) -> String {
    match &of.fidelity.divergence {
        None if !has_history(of) => {
            "nothing to replay: call torch.cuda.memory._record_memory_history() at the start of the job"
                .to_owned()
        }
        None => {
            let addresses = of.program.births().count();
            format!(
                "exact: {} placed where they were recorded, {} and {} the same",
                counted(addresses, "allocation"),
                counted(of.program.driver.len(), "driver call"),
                counted(of.trace().segments.len(), "final segment"),
            )
        }
        Some(parted) => format!(
            "not exact: at event {} the recording shows {}, the replay {}",
            count(parted.event.0),
            parted.recorded,
            parted.replayed
        ),
    }
}

/// What can be said of an allocation without a line. Where stacks were recorded throughout, it was made outside Python.
pub(crate) fn unlined(of: &Recording) -> &'static str {
    let sampled = of.snapshot.sidecar.as_ref().is_some_and(|sidecar| {
        sidecar.stacks.len() > 1 || sidecar.stacks.iter().any(|span| span.to_us.is_some())
    });
    match (of.snapshot.stacks.is_empty(), sampled) {
        (true, _) => "in use; no stacks were recorded",
        (false, true) => "no line: autograd's threads, C++, steps without stacks",
        (false, false) => "no Python line: autograd's threads and C++",
    }
}
