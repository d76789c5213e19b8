//! `oomph tune`.

use anyhow::Result;
use oomph_diagnose::place::Places;
use oomph_diagnose::steps;
use oomph_diagnose::tune::{Search, best};
use oomph_engine::recording::Recording;
use oomph_host::{input, parallel};
use oomph_report::results::TuneResult;
use oomph_report::{json, text};
use oomph_trace::Bytes;

use crate::args::{Common, Tune};
use crate::output;

pub(crate) fn run(args: &Tune, common: &Common) -> Result<()> {
    let snapshot = input::snapshot(&args.source.file)?;
    let recordings = input::recordings(snapshot, args.source.known(None));
    if recordings.iter().all(|recording| recording.trace.events.is_empty()) {
        anyhow::bail!(
            "{}: nothing to tune, the snapshot has no history: call _record_memory_history() at the start of the job",
            args.source.file.display()
        );
    }
    let results: Vec<TuneResult<'_>> =
        recordings.iter().map(|recording| result(recording, args.limit, common)).collect();
    let text = if common.json {
        json::document(results.iter().map(json::tune).collect())
    } else {
        let colour = output::colour(common);
        let reports: Vec<String> =
            results.iter().map(|result| text::tune::render(result, args.all, colour)).collect();
        reports.join("\n")
    };
    output::write(&text, common)
}

fn result<'a>(recording: &'a Recording<'a>, limit: Option<Bytes>, common: &Common) -> TuneResult<'a> {
    let search = Search::new(recording, limit);
    let settings = search.candidates();
    output::remark(common, &format!("oomph: replaying {} settings", settings.len()));
    let candidates = parallel::evaluate(&search, &settings);
    let best = best(&candidates);
    let growth = steps::find(recording, &mut Places::new(recording)).growth;
    TuneResult { recording, limit: search.limit, candidates, best, growth }
}
