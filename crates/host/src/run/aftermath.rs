//! What is said when the child has ended: a verdict where memory ran out, else a line for each GPU that was used.

use std::path::Path;

use oomph_report::text::Colour;
use oomph_report::text::run::{Peak, host_death, peaks};
use oomph_trace::Bytes;

use super::child::{Ended, Outcome};
use super::folder::{HOME, RunFolder};
use super::notes::Notes;
use super::pressure::Pressure;
use super::verdict;

/// How much is said of a run in which nothing ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Nothing.
    Quiet,
    /// What concerns the GPUs that were used.
    Normal,
    /// Also that none was.
    Verbose,
}

/// The words about a run.
#[derive(Clone, Debug, Default)]
pub struct Aftermath {
    /// What to print on standard error.
    pub text: String,
    /// Whether a GPU's memory ran out and that ended the run.
    pub ran_out: bool,
    /// The settings that a replay showed to help.
    pub fix: Option<String>,
}

/// Looks at what the run left. `before` is from before it began.
pub fn of_run(
    folder: &RunFolder,
    outcome: Outcome,
    before: &Pressure,
    talk: Talk,
    colour: Colour,
) -> Aftermath {
    let all = Notes::of_run(&folder.path);
    let mut failed: Vec<&Notes> = all.iter().filter(|notes| notes.ran_out()).collect();
    failed.sort_by_key(|notes| notes.failed_us());
    // A program that catches the error and ends may call that success.
    let gave_up = failed.iter().any(|notes| notes.said.ended_in_oom);
    if outcome.ended != Ended::Code(0) || gave_up {
        if let Some((first, later)) = failed.split_first()
            && let Some(verdict) = verdict::of_process(first, colour)
        {
            let text = format!("\n{}{}", verdict.text, of_the_others(&all, first, later));
            return Aftermath { text, ran_out: true, fix: verdict.fix };
        }
        if let Some(death) = before.death(&Pressure::read(), outcome, &all) {
            return Aftermath { text: format!("\n{}", host_death(&death, colour)), ..Aftermath::default() };
        }
    }
    let text = match talk {
        Talk::Quiet => String::new(),
        Talk::Normal | Talk::Verbose => quiet_lines(&all, folder, talk),
    };
    Aftermath { text, ..Aftermath::default() }
}

/// Where the last run is, for people who have to type it.
fn last() -> String {
    Path::new(HOME).join("last").display().to_string()
}

/// A line for each process beside the first that failed.
fn of_the_others(all: &[Notes], first: &Notes, later: &[&Notes]) -> String {
    let mut out = String::new();
    if all.len() > 1 {
        out.push_str(&format!("\noomph: this was {}, the first to fail\n", first.name));
    }
    for notes in later {
        let seconds = notes.failed_us().saturating_sub(first.failed_us()) as f64 / 1e6;
        let file = notes.recordings.first().and_then(|path| path.file_name()).unwrap_or_default();
        let file = Path::new(&last()).join(file);
        out.push_str(&format!(
            "oomph: {} ran out {seconds:.1} s later: oomph explain {}\n",
            notes.name,
            file.display()
        ));
    }
    let rest: Vec<Peak> = all
        .iter()
        .filter(|notes| notes.name != first.name && !notes.ran_out())
        .flat_map(|n| peaks_of(n, true))
        .collect();
    out.push_str(&peaks(&rest, &last()));
    out
}

fn quiet_lines(all: &[Notes], folder: &RunFolder, talk: Talk) -> String {
    let users: Vec<&Notes> = all.iter().filter(|notes| !peaks_of(notes, false).is_empty()).collect();
    let shown: Vec<Peak> = users.iter().flat_map(|notes| peaks_of(notes, users.len() > 1)).collect();
    let mut out = peaks(&shown, &last());
    let ooms: u64 = all.iter().map(times_out_of_memory).sum();
    if ooms > 0 {
        let times = if ooms == 1 { "once".to_owned() } else { format!("{ooms} times") };
        out.push_str(&format!(
            "oomph: ran out of memory {times} and went on; why: oomph explain {}\n",
            last()
        ));
    }
    if out.is_empty() && talk == Talk::Verbose {
        out = format!("oomph: no process used a GPU; {}\n", folder.shown.display());
    }
    out
}

fn times_out_of_memory(notes: &Notes) -> u64 {
    let counted: u64 = notes.said.devices.iter().filter_map(|card| card.stats.ooms).sum();
    counted.max(notes.said.ooms.len() as u64)
}

/// The peaks of one process on the GPUs it used.
fn peaks_of(notes: &Notes, is_named: bool) -> Vec<Peak> {
    let used = notes.said.devices.iter().filter_map(|card| {
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
