//! `oomph demo`: the whole way from an error to a proved fix, on a recording that is part of the program.

use anyhow::Result;
use std::sync::Arc;

use oomph_diagnose::results::explain::DeviceResult;
use oomph_diagnose::results::replay::ReplayResult;
use oomph_engine::recording::{Known, Recording};
use oomph_machine::cores;
use oomph_report::{json, text};
use oomph_trace::read_snapshot;

use crate::args::Common;
use crate::output;

/// A real job on an H200 that was allowed 6 GiB; see fixtures/fragmentation-oom.
const RECORDING: &[u8] = include_bytes!("../../../../fixtures/fragmentation-oom/snapshot.pickle.gz");

/// Explains it, checks the replay, and replays it with the setting that explain names first.
pub(crate) fn run(common: &Common) -> Result<()> {
    let recording = Arc::new(Recording::understand(read_snapshot(RECORDING)?, 0, Known::default()));
    let verdict = DeviceResult::of(Arc::clone(&recording), &cores::evaluate_shortlist);
    let check = ReplayResult::of(Arc::clone(&recording), &[], None)?;
    let best = verdict.explanation.fixes.first().filter(|fix| fix.helps);
    let Some(fix) = best.map(|fix| fix.candidate.options.to_string()) else {
        anyhow::bail!("the demo has no fix")
    };
    let fixed = ReplayResult::of(Arc::clone(&recording), std::slice::from_ref(&fix), None)?;
    if common.json {
        return output::write(
            &json::printed(&(json::explain(&verdict), json::replay(&check), json::replay(&fixed))),
            common,
        );
    }
    let colour = output::colour(common);
    let ceiling = recording.ceiling().unwrap_or_default();
    let text = format!(
        "A job on an H200 was allowed {} and died with {} of it free.\n\
         This is its memory snapshot, as PyTorch wrote it.\n\n\
         $ oomph explain snapshot.pickle\n\n{}\n\
         $ oomph replay snapshot.pickle\n\n{}\n\
         $ oomph replay snapshot.pickle --set {fix}\n\n{}",
        ceiling,
        ceiling.saturating_sub(verdict.explanation.moment.counters.active),
        text::explain::render(&verdict, text::Section::ALL, colour),
        text::replay::render(&check, colour),
        text::replay::render(&fixed, colour),
    );
    output::write(&text, common)
}
