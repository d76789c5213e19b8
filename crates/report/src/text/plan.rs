//! `oomph plan` as text: whether it fits, where the peak is and what it consists of, what would make it fit.

use std::fmt::Write as _;
use std::path::Path;

use oomph_trace::Bytes;

use super::style::{Align, Colour, paragraph, table};
use crate::memory;
use oomph_diagnose::results::plan::{ALIKE, PlanResult, PlannedVary};

/// That rows of the table stand for others.
const ALIKE_IN_TABLE: &str = "the cards were seen on three of them, whose kernels are taken to be chosen alike: name one with --gpu to see it on its own";

/// The report on one card.
pub fn render(result: &PlanResult, colour: Colour) -> String {
    let mut out = String::new();
    headline(&mut out, result, colour);
    let Some(peaks) = result.peaks else {
        notes(&mut out, result);
        return out;
    };
    if let Some(at) = moment(result) {
        paragraph(&mut out, "Peak at", &at);
    }
    out.push('\n');
    breakdown(&mut out, result, peaks.allocated, peaks.reserved);
    options(&mut out, result);
    if let Some(vary) = &result.vary {
        out.push('\n');
        paragraph(&mut out, "Vary", &varied(vary));
    }
    notes(&mut out, result);
    out
}

fn headline(out: &mut String, result: &PlanResult, colour: Colour) {
    let card = &result.card;
    let room = match result.limit {
        Some(limit) => format!("under a limit of {limit} on the {}", card.short),
        None => format!("on the {} ({})", card.short, card.total),
    };
    let line = match (result.fits, result.process()) {
        (Some(true), Some(process)) => colour.good(&format!("fits {room}: {process} at its peak")),
        (Some(false), Some(process)) => colour.bad(&format!("does not fit {room}: {process} at its peak")),
        _ => colour.bad(&format!("cannot tell whether it fits {room}")),
    };
    let _ = writeln!(out, "{}", colour.strong(&line));
    if let Some(why) = &result.why_not {
        paragraph(out, "Why", why);
    }
}

/// `train.py:61, forward of step 2, in functional.py:3504`.
fn moment(result: &PlanResult) -> Option<String> {
    let at = &result.at;
    let name = |file: &str| Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut parts = Vec::new();
    if let (Some(file), Some(line)) = (&at.file, at.line) {
        parts.push(format!("{}:{line}", name(file)));
    }
    match (at.phase, at.step) {
        (Some(phase), Some(step)) => parts.push(format!("{}, step {step}", phase.name())),
        (Some(phase), None) => parts.push(phase.name().to_owned()),
        (None, _) => {}
    }
    if let Some((file, line)) = &at.within {
        parts.push(format!("in {}:{line}", name(file)));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The card at the peak; the parts add up to it, or to what the process would need.
fn breakdown(out: &mut String, result: &PlanResult, allocated: Bytes, reserved: Bytes) {
    out.push_str("  Memory at the peak\n");
    let mut rows: Vec<(Bytes, String)> = memory::by_class(&result.by_class)
        .into_iter()
        .map(|(bytes, name)| (bytes, name.to_owned()))
        .collect();
    let named: Bytes = rows.iter().map(|(bytes, _)| *bytes).sum();
    if rows.is_empty() {
        rows.push((allocated, "in use".to_owned()));
        rows.push((reserved.saturating_sub(allocated), "cached".to_owned()));
    } else {
        rows.push((reserved.saturating_sub(named), "cached, at the peak of what is held".to_owned()));
    }
    rows.push((result.card.context, "CUDA context and libraries".to_owned()));
    let process = reserved + result.card.context;
    let (total, what) = if process <= result.card.total {
        rows.push((result.card.total.saturating_sub(process), "free".to_owned()));
        (result.card.total, result.card.name.clone())
    } else {
        (process, format!("needed; the {} has {}", result.card.short, result.card.total))
    };
    rows.retain(|(bytes, _)| *bytes > Bytes::ZERO);
    let mut cells: Vec<Vec<String>> =
        rows.into_iter().map(|(bytes, what)| vec![String::new(), bytes.to_string(), what]).collect();
    cells.push(vec!["=".to_owned(), total.to_string(), what]);
    table(out, 2, &[Align::Right, Align::Right, Align::Left], &cells);
}

fn options(out: &mut String, result: &PlanResult) {
    if result.options.is_empty() {
        return;
    }
    out.push_str("\n  What would change it\n");
    let mut rows = vec![["", "needs", "fits", "known by", "change"].map(str::to_owned).to_vec()];
    for (rank, option) in result.options.iter().enumerate() {
        rows.push(vec![
            (rank + 1).to_string(),
            option.process.map_or_else(|| "fails".to_owned(), |bytes| bytes.to_string()),
            answer(option.fits).to_owned(),
            option.how.name().to_owned(),
            option.change.clone(),
        ]);
    }
    use Align::{Left, Right};
    table(out, 2, &[Right, Right, Left, Left, Left], &rows);
    if let Some(best) = result.options.first().filter(|option| option.fits == Some(true)) {
        paragraph(out, "Do", &best.instruction);
    }
}

fn answer(fits: Option<bool>) -> &'static str {
    match fits {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
}

/// What the search over a flag found.
fn varied(vary: &PlannedVary) -> String {
    let Some(largest) = vary.largest else {
        return format!("not even {} 1 fits", vary.flag);
    };
    let mut text = format!("{} {largest} is the largest that fits", vary.flag);
    if vary.is_open {
        text = format!("{} {largest} fits, and more may", vary.flag);
    }
    if let (Some(asked), Some((micro, times))) = (vary.asked, vary.accumulation())
        && asked > largest
    {
        text.push_str(&format!("; {micro} × {times} steps of accumulation keep the batch of {asked}"));
    }
    text
}

fn notes(out: &mut String, result: &PlanResult) {
    if !result.caveats.is_empty() {
        out.push('\n');
    }
    for caveat in &result.caveats {
        paragraph(out, "Note", caveat);
    }
}

/// A table over several cards, in the order given.
pub fn cards(results: &[PlanResult], colour: Colour) -> String {
    let mut out = String::new();
    let fitting = results.iter().filter(|result| result.fits == Some(true)).count();
    let line = format!("fits on {fitting} of {} cards", results.len());
    let _ = writeln!(out, "{}\n", colour.strong(&line));
    let varies = results.iter().any(|result| result.vary.is_some());
    let mut rows = vec![
        ["", "memory", "needs", "fits", "seen on", if varies { "largest" } else { "" }]
            .map(str::to_owned)
            .to_vec(),
    ];
    for result in results {
        let vary = result.vary.as_ref();
        rows.push(vec![
            result.card.short.clone(),
            result.card.total.to_string(),
            result.process().map_or_else(|| "-".to_owned(), |process| process.to_string()),
            answer(result.fits).to_owned(),
            result.card.seen_on.clone().unwrap_or_else(|| result.card.short.clone()),
            vary.map_or_else(String::new, |vary| {
                vary.largest.map_or_else(|| "none".to_owned(), |n| n.to_string())
            }),
        ]);
    }
    use Align::{Left, Right};
    table(&mut out, 2, &[Left, Right, Right, Left, Left, Right], &rows);
    // Each note once; that cards stand for others, in one for all.
    let mut said: Vec<&str> = Vec::new();
    for note in results.iter().flat_map(|result| result.why_not.iter().chain(&result.caveats)) {
        let note = if note.starts_with(ALIKE) { ALIKE_IN_TABLE } else { note };
        if !said.contains(&note) {
            said.push(note);
        }
    }
    if let Some(at) = results.first().and_then(moment) {
        out.push('\n');
        paragraph(&mut out, "Peak at", &at);
    }
    if !said.is_empty() {
        out.push('\n');
    }
    for note in said {
        paragraph(&mut out, "Note", note);
    }
    out
}
