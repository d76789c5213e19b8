//! `oomph tune`.

use std::sync::Arc;

use anyhow::Result;
use oomph_diagnose::results::tune::TuneResult;
use oomph_diagnose::tune::Search;
use oomph_machine::{cores, explain};
use oomph_report::{json, text};

use crate::args::{Common, Tune};
use crate::output;

pub(crate) fn run(args: &Tune, common: &Common) -> Result<()> {
    let recordings = explain::recordings(&args.source.file, args.source.known(None))?;
    if recordings.iter().all(|recording| recording.trace().events.is_empty()) {
        anyhow::bail!(
            "{}: nothing to tune, the snapshot has no history: call _record_memory_history() at the start of the job",
            args.source.file.display()
        );
    }
    let evaluate = |search: &Search<'_>| {
        let settings = search.candidates();
        output::remark(common, &format!("oomph: replaying {} settings", settings.len()));
        cores::evaluate(search, &settings)
    };
    let results: Vec<TuneResult> = recordings
        .into_iter()
        .map(|recording| TuneResult::of(Arc::new(recording), args.limit, evaluate))
        .collect();
    output::results(&results, common, json::tune, |result, colour| {
        text::tune::render(result, args.all, colour)
    })
}
