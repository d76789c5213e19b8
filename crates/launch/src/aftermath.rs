//! What is found when the child has ended: why memory ran out, where it did, and the peaks of its processes.

use oomph_diagnose::results::run::{GpuDeath, LaterFailure, Peak, RunEnd, RunResult};
use oomph_machine::explain;
use oomph_machine::run_folder::Notes;
use oomph_trace::Bytes;

use crate::child::{Ended, Outcome};
use crate::folder::RunFolder;
use crate::pressure::Pressure;

/// Looks at what the run left. `before` is from before it began.
pub fn of_run(folder: &RunFolder, outcome: Outcome, before: &Pressure) -> RunResult {
    let all = Notes::of_run(&folder.path);
    let mut failed: Vec<&Notes> = all.iter().filter(|notes| notes.ran_out()).collect();
    failed.sort_by_key(|notes| notes.failed_us());
    let end = end(&all, &failed, outcome, before);
    let of_others = matches!(end, RunEnd::GpuDeath(_));
    let users: Vec<&Notes> = all.iter().filter(|notes| !(of_others && notes.ran_out())).collect();
    let is_named = of_others || users.iter().filter(|notes| !peaks_of(notes, false).is_empty()).count() > 1;
    RunResult {
        exit_code: outcome.ended.exit_code(),
        folder: folder.shown.clone(),
        end,
        peaks: users.iter().flat_map(|notes| peaks_of(notes, is_named)).collect(),
        failures: all.iter().map(failures).sum(),
    }
}

fn end(all: &[Notes], failed: &[&Notes], outcome: Outcome, before: &Pressure) -> RunEnd {
    // A program that catches the error and ends may call that success.
    let gave_up = failed.iter().any(|notes| notes.sidecar.ended_in_oom);
    if outcome.ended == Ended::Code(0) && !gave_up {
        return RunEnd::Other;
    }
    if let Some((first, later)) = failed.split_first() {
        let results = explain::process(first);
        if !results.is_empty() {
            return RunEnd::GpuDeath(Box::new(GpuDeath {
                process: (all.len() > 1).then(|| first.name.clone()),
                results,
                later: later.iter().map(|notes| later_failure(notes, first)).collect(),
            }));
        }
    }
    let death = before.death(&Pressure::read(), outcome, all);
    death.map_or(RunEnd::Other, |death| RunEnd::HostDeath(Box::new(death)))
}

fn later_failure(notes: &Notes, first: &Notes) -> LaterFailure {
    let file = notes.recordings.first().and_then(|path| path.file_name()).unwrap_or_default();
    LaterFailure {
        process: notes.name.clone(),
        seconds: notes.failed_us().saturating_sub(first.failed_us()) as f64 / 1e6,
        recording: file.to_string_lossy().into_owned(),
    }
}

fn failures(notes: &Notes) -> u64 {
    let counted: u64 = notes.sidecar.devices.iter().filter_map(|card| card.stats.ooms).sum();
    counted.max(notes.sidecar.ooms.len() as u64)
}

/// The peaks of one process on the GPUs it used.
fn peaks_of(notes: &Notes, is_named: bool) -> Vec<Peak> {
    let used = notes.sidecar.devices.iter().filter_map(|card| {
        let held = card.stats.peak_reserved.filter(|held| *held > Bytes::ZERO)?;
        Some(Peak {
            process: is_named.then(|| notes.name.clone()),
            device: card.index,
            held,
            whole: card.limit.or(card.total),
            is_limit: card.limit.is_some(),
            retries: card.stats.retries.unwrap_or_default(),
        })
    });
    used.collect()
}
