//! `oomph plan` as text: whether it fits, where the peak is and what it consists of, what would make it fit.

use std::path::Path;

use oomph_diagnose::results::plan::{ALIKE, PlanResult, PlannedVary};

use super::report::Align::{Left, Right};
use super::report::{Colour, Report, row};
use crate::breakdown::Breakdown;
use crate::numbers::known;

/// That rows of the table stand for others.
const ALIKE_IN_TABLE: &str = "the cards were seen on three of them, whose kernels are taken to be chosen alike: name one with --gpu to see it on its own";

/// The report on one card.
pub fn render(result: &PlanResult, colour: Colour) -> String {
    let mut report = Report::new(&headline(result, colour), colour);
    report.say_all(result.why_not.as_ref().map(|why| ("Why", why)));
    if let Some(peaks) = result.peaks {
        report.say_all(moment(result).map(|at| ("Peak at", at)));
        report.gap();
        report.breakdown(&Breakdown::planned(result, peaks));
        options(&mut report, result);
        if let Some(vary) = &result.vary {
            report.gap();
            report.say("Vary", varied(vary));
        }
    }
    notes(&mut report, result.caveats.iter().map(String::as_str).collect());
    report.finish()
}

fn headline(result: &PlanResult, colour: Colour) -> String {
    let card = &result.card;
    let room = match result.limit {
        Some(limit) => format!("under a limit of {limit} on the {}", card.short),
        None => format!("on the {} ({})", card.short, card.total),
    };
    match (result.fits, result.process()) {
        // PyTorch gives its cache back in time.
        (Some(true), Some(process)) if holds_more(result) => {
            colour.good(&format!("fits {room}: with more room it would hold {process}"))
        }
        (Some(true), Some(process)) => colour.good(&format!("fits {room}: {process} at its peak")),
        (Some(false), Some(process)) => colour.bad(&format!("does not fit {room}: {process} at its peak")),
        _ => colour.bad(&format!("cannot tell whether it fits {room}")),
    }
}

/// Whether it would hold more than there is, had it more.
fn holds_more(result: &PlanResult) -> bool {
    let room = result.limit.unwrap_or(result.card.total.saturating_sub(result.context));
    result.peaks.is_some_and(|peaks| peaks.reserved > room)
}

/// `train.py:61, forward of step 2, in functional.py:3504`.
fn moment(result: &PlanResult) -> Option<String> {
    let at = &result.at;
    let name = |file: &str| Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own = at.file.as_ref().zip(at.line).map(|(file, line)| format!("{}:{line}", name(file)));
    let step = at.step.map(|step| format!(", step {step}")).unwrap_or_default();
    let phase = at.phase.map(|phase| format!("{}{step}", phase.name()));
    let within = at.within.as_ref().map(|inner| format!("in {}:{}", name(&inner.file), inner.line));
    let parts: Vec<String> = [own, phase, within].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn options(report: &mut Report, result: &PlanResult) {
    if result.options.is_empty() {
        return;
    }
    report.gap();
    report.heading("What would change it");
    let mut rows = vec![row!["", "needs", "fits", "known by", "change"]];
    for (index, option) in result.options.iter().enumerate() {
        let (needs, fits) = (known(option.process, "fails"), answer(option.fits));
        rows.push(row![index + 1, needs, fits, option.how.name(), option.change]);
    }
    report.table(2, &[Right, Right, Left, Left, Left], &rows);
    let best = result.options.first().filter(|option| option.fits == Some(true));
    report.say_all(best.map(|best| ("Do", &best.instruction)));
}

fn answer(fits: Option<bool>) -> &'static str {
    fits.map_or("?", |fits| if fits { "yes" } else { "no" })
}

/// What the search over a flag found.
fn varied(vary: &PlannedVary) -> String {
    let Some(largest) = vary.largest else {
        return format!("not even {} 1 fits", vary.flag);
    };
    let more = if vary.is_open { "fits, and more may" } else { "is the largest that fits" };
    let kept = match (vary.asked, vary.accumulation()) {
        (Some(asked), Some((micro, times))) if asked > largest => {
            format!("; {micro} × {times} steps of accumulation keep the batch of {asked}")
        }
        _ => String::new(),
    };
    format!("{} {largest} {more}{kept}", vary.flag)
}

fn notes(report: &mut Report, notes: Vec<&str>) {
    if !notes.is_empty() {
        report.gap();
    }
    report.say_all(notes.into_iter().map(|note| ("Note", note)));
}

/// A table over several cards, in the order given.
pub fn cards(results: &[PlanResult], colour: Colour) -> String {
    let fitting = results.iter().filter(|result| result.fits == Some(true)).count();
    let mut report = Report::new(&format!("fits on {fitting} of {} cards", results.len()), colour);
    report.gap();
    let varies = results.iter().any(|result| result.vary.is_some());
    let mut rows = vec![row!["", "memory", "needs", "fits", "seen on", if varies { "largest" } else { "" }]];
    for result in results {
        let card = &result.card;
        let largest = result.vary.as_ref().map(|vary| known(vary.largest, "none")).unwrap_or_default();
        let (needs, seen_on) =
            (known(result.process(), "-"), result.seen_on.as_deref().unwrap_or(&card.short));
        rows.push(row![card.short, card.total, needs, answer(result.fits), seen_on, largest]);
    }
    report.table(2, &[Left, Right, Right, Left, Left, Right], &rows);
    if let Some(at) = results.first().and_then(moment) {
        report.gap();
        report.say("Peak at", at);
    }
    // Each note once; that cards stand for others, in one for all.
    let mut said: Vec<&str> = Vec::new();
    for note in results.iter().flat_map(|result| result.why_not.iter().chain(&result.caveats)) {
        let note = if note.starts_with(ALIKE) { ALIKE_IN_TABLE } else { note };
        if !said.contains(&note) {
            said.push(note);
        }
    }
    notes(&mut report, said);
    report.finish()
}
