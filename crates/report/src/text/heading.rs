//! What every text report says first about the recording it is of.

use oomph_engine::program::{Origin, Refusal, Unknown};
use oomph_engine::recording::{LimitSource, Recording};
use oomph_trace::Bytes;

use super::style::{count, counted, paragraph};

/// The device and the size of the recording, in a line.
pub(super) fn recording(out: &mut String, of: &Recording<'_>) {
    let origin = match of.program.origin {
        Origin::Complete => "from the start",
        Origin::Windowed => "begun while memory was in use",
    };
    let settings = of.setup.options.to_string();
    let settings = if settings.is_empty() { "default settings".to_owned() } else { settings };
    let device = if of.trace.device < 0 { "host".to_owned() } else { format!("GPU {}", of.trace.device) };
    paragraph(
        out,
        "Run",
        &format!(
            "{device}, {} recorded {origin}, PyTorch {}, {settings}",
            counted(of.trace.events.len() as u64, "event"),
            of.setup.profile.version
        ),
    );
    for unknown in &of.program.unknown {
        paragraph(out, "Unknown", &describe(*unknown));
    }
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
        None => {
            let addresses =
                of.program.ops.iter().filter(|op| op.kind == oomph_engine::program::OpKind::Alloc).count();
            format!(
                "exact: {} placed where they were recorded, {} and all {} final segments the same",
                counted(addresses as u64, "allocation"),
                counted(of.program.driver.len() as u64, "driver call"),
                count(of.trace.segments.len() as u64),
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
