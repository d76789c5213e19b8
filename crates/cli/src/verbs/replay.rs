//! `oomph replay`.

use std::sync::Arc;

use anyhow::Result;
use oomph_diagnose::results::replay::{ReplayResult, can_be_its_limit};
use oomph_machine::explain;
use oomph_report::{json, text};

use crate::args::{Common, Replay, UsageError};
use crate::output;

pub(crate) fn run(args: &Replay, common: &Common) -> Result<()> {
    let mut recordings = explain::recordings(&args.source.file, args.source.known(None))?;
    if let Some(limit) = args.limit.filter(|_| args.settings.is_empty())
        && recordings.iter().all(|recording| can_be_its_limit(recording, limit))
    {
        let known = args.source.known(args.limit);
        recordings = recordings.into_iter().map(|recording| recording.understood_again(known)).collect();
    }
    let results = recordings.into_iter().map(|recording| {
        ReplayResult::of(Arc::new(recording), &args.settings, args.limit)
            .map_err(|error| UsageError(error.to_string()))
    });
    let results = results.collect::<Result<Vec<ReplayResult>, UsageError>>()?;
    output::results(&results, common, json::replay, text::replay::render)
}
