//! What every text report says first about the recording it is of.

use oomph_engine::program::{Origin, Refusal, Unknown};
use oomph_engine::recording::{LimitSource, Recording};
use oomph_trace::Bytes;

use super::style::{count, counted, paragraph};

/// The device and the size of the recording, in a line.
pub(super) fn recording(out: &mut String, of: &Recording<'_>) {
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
    paragraph(out, "Run", &format!("GPU {device}, {history}, PyTorch {version}, {settings}"));
    for unknown in &of.program.unknown {
        paragraph(out, "Unknown", &describe(*unknown));
    }
}

/// Whether there is anything to replay: a bare list of segments shows one moment only.
pub(super) fn has_history(of: &Recording<'_>) -> bool {
    !of.trace.events.is_empty()
}

fn describe(unknown: Unknown) -> String {
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
pub(super) fn limit(of: &Recording<'_>) -> Option<(Bytes, String)> {
    let ceiling = of.ceiling()?;
    let bounds = &of.program.limit;
    let source = match (of.limit_source, bounds.refusal) {
        (LimitSource::Given, _) => "limit, as given".to_owned(),
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
pub(super) fn fidelity(of: &Recording<'_>) -> String {
    match &of.fidelity.divergence {
        None if !has_history(of) => {
            "nothing to replay: call torch.cuda.memory._record_memory_history() at the start of the job"
                .to_owned()
        }
        None => {
            let addresses =
                of.program.ops.iter().filter(|op| op.kind == oomph_engine::program::OpKind::Alloc).count();
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
