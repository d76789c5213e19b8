//! `oomph explain` as text: the verdict, why it is not another, the card, the fixes.

use std::fmt::Write as _;

use oomph_diagnose::cause::Cause;
use oomph_diagnose::moment::Holder;
use oomph_diagnose::tune::risks;
use oomph_trace::Bytes;

use super::heading;
use super::style::{Align, Colour, paragraph, table};
use crate::memory;
use crate::results::ExplainResult;
use crate::words::{self, count, counted};

/// How many holders are named; the others are summed up.
const HOLDERS: usize = 8;
/// The column of the room left after what failed.
const ROOM: usize = 3;
/// How many settings that do not help are listed.
const FRUITLESS: usize = 3;

/// The whole report.
pub fn render(result: &ExplainResult<'_>, colour: Colour) -> String {
    let mut out = String::new();
    verdict(&mut out, result, colour);
    heading::recording(&mut out, result.recording);
    findings(&mut out, result);
    out.push('\n');
    card(&mut out, result);
    by_class(&mut out, result);
    out.push('\n');
    if words::has_history(result.recording) {
        fixes(&mut out, result, colour);
        advice(&mut out, result);
    }
    paragraph(&mut out, "Check", &words::fidelity(result.recording));
    out
}

fn verdict(out: &mut String, result: &ExplainResult<'_>, colour: Colour) {
    let explanation = &result.explanation;
    let Some(oom) = explanation.ooms.first() else {
        if !words::has_history(result.recording) {
            let _ = writeln!(out, "{}", colour.strong(&words::headline(result)));
            return;
        }
        let _ = writeln!(out, "{}", colour.strong(&words::headline(result)));
        paragraph(out, "When", &words::when(result));
        return;
    };
    let _ = writeln!(out, "{}", colour.strong(&colour.bad(&words::headline(result))));
    if let Some(place) = &oom.place {
        paragraph(out, "Where", &words::located(place));
    }
    paragraph(out, "When", &words::when(result));
    if let Some(failed) =
        explanation.moment.failed.filter(|failed| failed.segment.to_string() != failed.size.to_string())
    {
        let text = format!("PyTorch's message says {}, which is what it asked of the driver", failed.segment);
        paragraph(out, "Size", &text);
    }
}

fn findings(out: &mut String, result: &ExplainResult<'_>) {
    let explanation = &result.explanation;
    let cause = explanation.cause;
    if cause.is_none() && !explanation.ooms.is_empty() {
        paragraph(
            out,
            "Cause",
            "unknown: the limit cannot be told from this recording; give it with --limit",
        );
    }
    for finding in &explanation.findings {
        let label = if finding.cause.is_some() && finding.cause == cause { "Cause" } else { "Also" };
        let name = finding.cause.map_or_else(String::new, |cause| format!("{}: ", cause.name()));
        paragraph(out, label, &format!("{name}{} [{}]", finding.claim, finding.rule));
        for line in &finding.evidence {
            paragraph(out, "", line);
        }
    }
    for (cause, reason) in &explanation.ruled_out {
        paragraph(out, "Not", &format!("{}: {reason}", cause.name()));
    }
}

/// The memory at that moment, part by part; the parts add up to the last line.
fn card(out: &mut String, result: &ExplainResult<'_>) {
    let moment = &result.explanation.moment;
    let mut rows: Vec<(Bytes, String)> = Vec::new();
    let unlined = words::unlined(result.recording);
    for holder in moment.holders.iter().take(HOLDERS) {
        rows.push((holder.bytes, held_by(holder, unlined)));
    }
    let rest = moment.holders.get(HOLDERS..).unwrap_or_default();
    if !rest.is_empty() {
        let bytes = rest.iter().map(|holder| holder.bytes).sum();
        rows.push((bytes, format!("{} elsewhere", counted(rest.len() as u64, "line"))));
    }
    rows.push((moment.trapped(), "cached beside blocks in use: cannot be given back".to_owned()));
    rows.push((moment.releasable, "cached, could be given back".to_owned()));
    let (not_held, total, source) = memory::not_held(result);
    rows.extend(not_held.into_iter().map(|(_, bytes, what)| (bytes, what)));
    rows.retain(|(bytes, _)| *bytes > Bytes::ZERO);
    let label = match result.explanation.ooms.first() {
        Some(_) => "Memory when it failed",
        None if words::has_history(result.recording) => "Memory at the peak",
        None => "Memory when the snapshot was taken",
    };
    let _ = writeln!(out, "  {label}");
    let mut cells: Vec<Vec<String>> =
        rows.into_iter().map(|(bytes, what)| vec![String::new(), bytes.to_string(), what]).collect();
    cells.push(vec!["=".to_owned(), total.to_string(), source]);
    table(out, 2, &[Align::Right, Align::Right, Align::Left], &cells);
    if let Some(note) = words::borrowed(&result.explanation) {
        paragraph(out, "Note", &note);
    }
}

/// What was in use, by what it was for; the parts add up to the last line.
fn by_class(out: &mut String, result: &ExplainResult<'_>) {
    let moment = &result.explanation.moment;
    let parts = moment.classes.as_ref().map(memory::by_class).unwrap_or_default();
    if parts.is_empty() {
        return;
    }
    out.push_str("\n  By class\n");
    let mut cells: Vec<Vec<String>> = parts
        .into_iter()
        .map(|(bytes, name)| vec![String::new(), bytes.to_string(), name.to_owned()])
        .collect();
    cells.push(vec!["=".to_owned(), moment.counters.active.to_string(), "in use".to_owned()]);
    table(out, 2, &[Align::Right, Align::Right, Align::Left], &cells);
}

fn held_by(holder: &Holder, unlined: &str) -> String {
    let place = words::holder(holder, unlined);
    if holder.count > 1 { format!("{place} ×{}", count(holder.count as u64)) } else { place }
}

/// What to change in the program, and what is tried in vain.
fn advice(out: &mut String, result: &ExplainResult<'_>) {
    let advice = &result.explanation.advice;
    if advice.is_empty() {
        return;
    }
    out.push_str("  Beside settings\n");
    let helping = advice.iter().filter(|advice| advice.helps);
    for (rank, advice) in helping.enumerate() {
        paragraph(out, &(rank + 1).to_string(), &words::advice(advice));
    }
    for advice in advice.iter().filter(|advice| !advice.helps) {
        paragraph(out, "–", &words::advice(advice));
    }
    out.push('\n');
}

fn fixes(out: &mut String, result: &ExplainResult<'_>, colour: Colour) {
    let explanation = &result.explanation;
    if explanation.fixes.is_empty() {
        return;
    }
    let helping = explanation.fixes.iter().filter(|fix| fix.helps).count();
    let leaks = explanation.cause == Some(Cause::Leak);
    let heading = match (helping, explanation.ooms.is_empty()) {
        (1.., false) if leaks => "Settings that would have moved the failure to a later step (replayed)",
        (0, false) => "Settings: none would have let it pass (replayed)",
        (0, true) => "Settings: none would lower the peak by 1% or more (replayed)",
        (_, false) => "Settings that would have let it pass (replayed)",
        (_, true) => "Settings that lower the peak (replayed)",
    };
    let _ = writeln!(out, "  {heading}");
    let limited = result.recording.ceiling().is_some();
    let mut rows = vec![["", "peak held", "retries", "room", "fits", "settings"].map(str::to_owned).to_vec()];
    let fruitless = explanation.fixes.iter().filter(|fix| !fix.helps).take(FRUITLESS);
    for (rank, fix) in explanation.fixes.iter().filter(|fix| fix.helps).chain(fruitless).enumerate() {
        let mark = if fix.helps { (rank + 1).to_string() } else { "–".to_owned() };
        let fits = match (limited, fix.candidate.completes) {
            (false, _) => "-",
            (true, true) => "yes",
            (true, false) => "no",
        };
        rows.push(vec![
            mark,
            fix.candidate.peak_reserved.to_string(),
            count(fix.candidate.retries),
            fix.candidate.room.map_or_else(|| "-".to_owned(), |room| room.to_string()),
            fits.to_owned(),
            words::settings(&fix.candidate),
        ]);
    }
    use Align::{Left, Right};
    let mut columns = vec![Right, Right, Right, Right, Left, Left];
    if explanation.ooms.is_empty() {
        // Nothing failed, so there is nothing to have room after.
        columns.remove(ROOM);
        for row in &mut rows {
            row.remove(ROOM);
        }
    }
    table(out, 2, &columns, &rows);
    if limited {
        let room = if explanation.ooms.is_empty() {
            ""
        } else {
            "; room: what more such requests could take after it"
        };
        paragraph(
            out,
            "Columns",
            &format!("peak held: with memory to spare; the others: under the limit{room}"),
        );
    }
    if leaks {
        paragraph(out, "Do", words::cure_of_growth(explanation));
    } else if let Some(best) = explanation.fixes.first().filter(|fix| fix.helps) {
        paragraph(out, "Do", &colour.good(&words::instruction(&best.candidate)));
        for risk in risks(&best.candidate.options) {
            paragraph(out, "Mind", risk);
        }
    }
    out.push('\n');
}
