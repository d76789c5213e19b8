//! `oomph explain` of a log or a pasted message, as text.

use std::fmt::Write as _;

use oomph_diagnose::message::{Log, Report, Role};
use oomph_trace::Bytes;

use super::style::{Align, Colour, paragraph, table};
use crate::words::{self, count, counted};

/// How many changes that do not help are listed.
const FRUITLESS: usize = 3;
/// How many changes that help are listed.
const HELPING: usize = 5;

/// The whole report: the culprit in full, what follows from it in a line each.
pub fn render(log: &Log, colour: Colour) -> String {
    let mut out = String::new();
    let Some((culprit, others)) = log.reports.split_first() else {
        let _ = writeln!(out, "{}", colour.strong("no report of memory that ran out"));
        let text = format!("{} read; none says that memory ran out", counted(log.extent.lines, "line"));
        paragraph(&mut out, "Read", &text);
        return out;
    };
    verdict(&mut out, culprit, colour);
    memory(&mut out, culprit);
    fixes(&mut out, culprit);
    follow(&mut out, others);
    out
}

fn verdict(out: &mut String, oom: &Report, colour: Colour) {
    let title = words::message_headline(oom);
    let _ = writeln!(out, "{}", colour.strong(&colour.bad(&title)));
    if let Some(line) = words::message_place(oom) {
        paragraph(out, "Where", &line);
    }
    paragraph(out, "Said", &format!("line {}: {}", count(oom.line), oom.text));
    if let Some(writer) = oom.writer {
        let program = if oom.framework.is_pytorch() { "PyTorch " } else { "" };
        paragraph(out, "By", &format!("{program}{writer}"));
    }
    let verdict = &oom.verdict;
    let name = verdict.cause.name().replace('_', " ");
    paragraph(out, "Cause", &format!("{name}, {} confidence", verdict.confidence.name()));
    for line in &verdict.why {
        paragraph(out, "", line);
    }
    if let Some(shape) = oom.shape {
        paragraph(out, "Shape", shape.sentence);
    }
    if let Some(ask) = verdict.ask {
        paragraph(out, "Find out", ask);
    }
}

/// The numbers of the message, as far as it has them; with all of them the parts add up to the device.
fn memory(out: &mut String, oom: &Report) {
    let facts = &oom.facts;
    let outside =
        facts.outside().map(|outside| outside.saturating_sub(facts.other_process.unwrap_or_default()));
    let rows: Vec<(Option<Bytes>, &str)> = vec![
        (facts.allocated, "in use by tensors"),
        (facts.cached(), "cached by the allocator"),
        (facts.private_pools, "free inside private pools, counted as in use"),
        (facts.other_process, "held by other processes"),
        (outside.filter(|bytes| *bytes > Bytes::ZERO), "outside the allocator: contexts, libraries, others"),
        (facts.free, "free on the device"),
        (facts.allowed, "allowed to this process"),
        (facts.total, "on the device in all"),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .filter_map(|(bytes, what)| Some(vec![bytes?.to_string(), what.to_owned()]))
        .collect();
    if !rows.is_empty() {
        out.push_str("\n  Memory, as the message states it\n");
        table(out, 4, &[Align::Right, Align::Left], &rows);
    }
}

fn fixes(out: &mut String, oom: &Report) {
    if oom.fixes.is_empty() {
        return;
    }
    out.push_str("\n  What helps, and how that is known\n");
    let helping = oom.fixes.iter().filter(|fix| fix.helps).take(HELPING);
    let fruitless = oom.fixes.iter().filter(|fix| !fix.helps).take(FRUITLESS);
    for (rank, fix) in helping.enumerate() {
        let label = format!("{}", rank + 1);
        paragraph(out, &label, &format!("{} ({}): {}", fix.title, fix.how.name(), fix.why));
    }
    for fix in fruitless {
        paragraph(out, "not", &format!("{} ({}): {}", fix.title, fix.how.name(), fix.why));
    }
}

/// What came after the first failure.
fn follow(out: &mut String, others: &[Report]) {
    let failures = others.iter().filter(|oom| oom.role == Role::Follows).count();
    let warnings = others.iter().filter(|oom| oom.role == Role::Warning).count();
    if failures > 0 {
        let text = format!(
            "{} in the log, most likely because of this one",
            counted(failures as u64, "more failure")
        );
        paragraph(out, "Then", &text);
    }
    if warnings > 0 {
        let text = format!("{} of memory that was short but not fatal", counted(warnings as u64, "warning"));
        paragraph(out, "Beside", &text);
    }
}
