//! `oomph diff` as text.

use oomph_diagnose::diff::{Change, Comparison, LineChange, Need};
use oomph_diagnose::results::diff::{Allowance, DiffResult, Over};
use oomph_trace::Bytes;

use super::report::{Align, Colour, Report, WIDTH, row, wrapped};
use crate::compared::{doubt, fate, percent, place, signed};
use crate::numbers::{count, counted};

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

/// `B needs 512.00 MiB more (8.4%): train.py:31 step, 512.00 MiB more`.
fn answer(found: &Comparison) -> String {
    let need = found.requested();
    let share = Some(percent(need)).filter(|share| !share.is_empty());
    let share = share.map(|share| format!(" ({share})")).unwrap_or_default();
    let first = found.first().map(|line| format!(": {}, {}", place(line.place()), differs(line)));
    match (need, first) {
        _ if found.is_same() => format!("no difference: both need {}", need.b),
        (need, None) if need.is_none() && found.reserved().is_none() => {
            format!("no difference at the peak: both need {}", need.b)
        }
        (need, first) if need.is_none() => {
            format!(
                "B needs as much as A, {}{}",
                need.b,
                first.map(|first| "; but".to_owned() + &first[1..]).unwrap_or_default()
            )
        }
        (need, first) => {
            let (by, word) = if need.b > need.a { (need.more(), "more") } else { (need.less(), "less") };
            format!("B needs {by} {word}{share}{}", first.unwrap_or_default())
        }
    }
}

/// What became of a line, with the amount: `512.00 MiB more`, `96.00 MiB, new`.
fn differs(line: &LineChange) -> String {
    let change = line.change();
    match fate(line) {
        "new" => format!("{}, new", change.b),
        "gone" => format!("{}, gone", change.a),
        _ if change.b > change.a => format!("{} more", change.more()),
        _ => format!("{} less", change.less()),
    }
}

/// Which recording it is, and when its peak was.
fn side(name: &str, need: &Need) -> String {
    let step = need.step.map(|step| format!(", in step {step}")).unwrap_or_default();
    let phase = need.phase.map(|phase| format!(", {}", phase.name())).unwrap_or_default();
    let steps =
        if need.steps > 0 { format!("; {} found", counted(need.steps, "step")) } else { String::new() };
    format!("{name}: peak at event {}{step}{phase}{steps}", count(need.event.0))
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

/// What to know before trusting the figures.
fn minds(found: &Comparison) -> Vec<String> {
    let before = [("A", found.a.before_start), ("B", found.b.before_start)];
    let before = before.iter().filter(|(_, bytes)| *bytes > Bytes::ZERO);
    let before = before.map(|(name, bytes)| {
        format!("{name} began with {bytes} in use that has no line: compared is what is needed beyond that")
    });
    let aside = [("A", "B", found.a.set_aside), ("B", "A", found.b.set_aside)];
    let aside = aside.iter().filter(|(_, _, bytes)| *bytes > Bytes::ZERO);
    let aside = aside.map(|(name, other, bytes)| {
        format!("{bytes} that {name} asks for was there before {other}'s recording began, by its sizes: not counted")
    });
    before.chain(aside).chain(found.doubts.iter().map(doubt)).collect()
}
