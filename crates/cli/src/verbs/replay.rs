//! `oomph replay`.

use anyhow::Result;
use oomph_engine::recording::Recording;
use oomph_engine::replay::{OnFailure, Setup, replay};
use oomph_host::input;
use oomph_report::results::ReplayResult;
use oomph_report::{json, text};
use oomph_trace::Bytes;

use crate::args::{Common, Replay, UsageError};
use crate::output;

pub(crate) fn run(args: &Replay, common: &Common) -> Result<()> {
    let snapshot = input::snapshot(&args.source.file)?;
    let mut recordings = input::recordings(snapshot, args.source.known(None));
    if let Some(limit) = args.limit {
        let fits = |recording: &Recording<'_>| is_its_own(recording, limit);
        if args.settings.is_empty() && recordings.iter().all(fits) {
            recordings = input::recordings(snapshot, args.source.known(Some(limit)));
        }
    }
    let results: Result<Vec<ReplayResult<'_>>> =
        recordings.iter().map(|recording| result(recording, &args.settings, args.limit)).collect();
    let results = results?;
    let text = if common.json {
        json::document(results.iter().map(json::replay).collect())
    } else {
        let colour = output::colour(common);
        let reports: Vec<String> =
            results.iter().map(|result| text::replay::render(result, colour)).collect();
        reports.join("\n")
    };
    output::write(&text, common)
}

/// Whether `limit` can be the one the job ran under: all that was granted fits it, all that was refused does not.
fn is_its_own(recording: &Recording<'_>, limit: Bytes) -> bool {
    let bounds = &recording.program.limit;
    bounds.at_least <= limit && bounds.below.is_none_or(|below| limit < below)
}

/// One recording under its own settings with `settings` on top, and under `limit` if one is given.
pub(crate) fn result<'a>(
    recording: &'a Recording<'a>,
    settings: &[String],
    limit: Option<Bytes>,
) -> Result<ReplayResult<'a>> {
    let mut options = recording.setup.options.clone();
    for setting in settings {
        options.apply(setting, &recording.setup.profile).map_err(|error| UsageError(error.to_string()))?;
    }
    if options.per_process_memory_fraction.is_some_and(|share| share < 1.0) && limit.is_none() {
        let text = "per_process_memory_fraction is a share of a card whose size no snapshot states: \
                    give the limit itself with --limit";
        return Err(UsageError(text.to_owned()).into());
    }
    let setup = match limit {
        Some(limit) => Setup { options, limit: Some(limit), capacity: None, ..recording.setup },
        None => Setup { options, ..recording.setup.clone() },
    };
    let as_recorded = setup == recording.setup;
    let replayed = if as_recorded && recording.is_exact() {
        recording.fidelity.replayed
    } else {
        replay(&recording.program, &setup, recording.start_for(&setup.options), OnFailure::FollowRecording)
    };
    Ok(ReplayResult { recording, setup, as_recorded, replayed })
}
