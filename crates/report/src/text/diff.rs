//! `oomph diff` as text.

use oomph_diagnose::diff::{Change, Comparison, LineChange};
use oomph_diagnose::results::diff::{Allowance, DiffResult, Over};
use oomph_trace::Bytes;

use super::report::{Align, Colour, Report, WIDTH, row, wrapped};
use crate::compared::{answer, fate, minds, percent, place, side, signed};
use crate::numbers::counted;

/// How many lines are shown that grew, and that shrank.
const SHOWN: usize = 8;

/// The whole report, with what `--fail-over` says where it was given.
pub fn render(result: &DiffResult, allowed: Option<Allowance>, colour: Colour) -> String {
    let found = &result.comparison;
    let over = allowed.map(|allowed| result.over(allowed)).unwrap_or_default();
    let title = wrapped(&answer(found), WIDTH).join("\n");
    let title = match (allowed, over.is_empty()) {
        (Some(_), false) => colour.bad(&title),
        (Some(_), true) => colour.good(&title),
        (None, _) => title,
    };
    let mut report = Report::new(&title, colour);
    if let Some(text) = found.first().and_then(LineChange::shown).and_then(|held| held.text.as_ref()) {
        report.say("Line", text);
    }
    report.say("A", side(&result.a, &found.a));
    report.say("B", side(&result.b, &found.b));
    if let Some(allowed) = allowed {
        report.say("Allowed", gate(found, allowed, &over));
    }
    report.gap();
    figures(&mut report, found);
    if !found.is_same() {
        lines(&mut report, found);
        classes(&mut report, found);
        kept(&mut report, found);
    }
    let minds = minds(found);
    if !minds.is_empty() {
        report.gap();
        report.say_all(minds.into_iter().map(|text| ("Mind", text)));
    }
    report.finish()
}

fn gate(found: &Comparison, allowed: Allowance, over: &[Over]) -> String {
    let words = |over: &Over| match over {
        Over::Requested => format!("what is asked for grew by {}", grown(found.requested())),
        Over::Reserved => format!("what is held grew by {}", grown(found.reserved())),
    };
    match over {
        [] => format!("{allowed} more; it is within that"),
        over => format!("{allowed} more; {}", over.iter().map(words).collect::<Vec<String>>().join(", and ")),
    }
}

fn grown(change: Change) -> String {
    match percent(change) {
        share if share.is_empty() => change.more().to_string(),
        share => format!("{share}, {}", change.more()),
    }
}

fn figures(report: &mut Report, found: &Comparison) {
    let active = Change { a: found.a.active, b: found.b.active };
    let rows = [("asked for", found.requested()), ("in use", active), ("held", found.reserved())];
    let mut table = vec![row!["at the peak", "A", "B", "change", ""]];
    table.extend(rows.map(|(name, change)| {
        let share = if change.is_none() { String::new() } else { percent(change) };
        row![name, change.a, change.b, signed(change), share]
    }));
    use Align::{Left, Right};
    report.table(2, &[Left, Right, Right, Right, Right], &table);
}

fn lines(report: &mut Report, found: &Comparison) {
    let grown = found.lines.iter().filter(|line| line.change().more() > Bytes::ZERO);
    let shrunk = found.lines.iter().rev().filter(|line| line.change().less() > Bytes::ZERO);
    for (heading, all) in [
        ("What grew, by line", grown.collect::<Vec<&LineChange>>()),
        ("What shrank, by line", shrunk.collect()),
    ] {
        if all.is_empty() {
            continue;
        }
        report.gap();
        report.heading(heading);
        let rows: Vec<Vec<String>> = all
            .iter()
            .take(SHOWN)
            .map(|line| {
                let mark = if matches!(fate(line), "new" | "gone") { fate(line) } else { "" };
                row![signed(line.change()), mark, place(line.place())]
            })
            .collect();
        report.table(4, &[Align::Right, Align::Left, Align::Cut], &rows);
        if let Some(more) = all.len().checked_sub(SHOWN + 1) {
            let rest = Change {
                a: all[SHOWN..].iter().map(|line| line.change().a).sum(),
                b: all[SHOWN..].iter().map(|line| line.change().b).sum(),
            };
            report.line(&format!("    {} of {}", signed(rest), counted(more + 1, "more line")));
        }
    }
}

fn classes(report: &mut Report, found: &Comparison) {
    let changed = found.classes.iter().filter(|class| !class.change.is_none());
    let rows: Vec<Vec<String>> =
        changed.map(|class| row![signed(class.change), class.class.words()]).collect();
    if !rows.is_empty() {
        report.gap();
        report.heading("By what it is for");
        report.table(4, &[Align::Right, Align::Left], &rows);
    }
}

fn kept(report: &mut Report, found: &Comparison) {
    let changed = found.kept.iter().filter(|line| !line.change().is_none()).take(SHOWN);
    let rows: Vec<Vec<String>> =
        changed.map(|line| row![signed(line.change()), place(line.place())]).collect();
    if !rows.is_empty() {
        report.gap();
        report.heading("Kept with every step");
        report.table(4, &[Align::Right, Align::Cut], &rows);
    }
}
