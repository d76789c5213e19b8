//! `oomph explain` of a log or a pasted message, as text.

use oomph_diagnose::message::{self as read, Log, Role};
use oomph_trace::Bytes;

use super::report::{Colour, Report};
use crate::numbers::{count, counted, known};
use crate::{breakdown, message, place};

/// The whole report: the culprit in full, what follows from it in a line each.
pub fn render(log: &Log, colour: Colour) -> String {
    report(log, colour).finish()
}

pub(super) fn report(log: &Log, colour: Colour) -> Report {
    let Some((culprit, others)) = log.reports.split_first() else {
        let mut report = Report::new(message::NONE, colour);
        let lines = counted(log.extent.lines, "line");
        report.say("Read", format!("{lines} read; none says that memory ran out"));
        return report;
    };
    let mut report = Report::new(&colour.bad(&message::headline(culprit)), colour);
    verdict(&mut report, culprit);
    memory(&mut report, culprit);
    fixes(&mut report, culprit);
    follow(&mut report, others);
    report
}

fn verdict(report: &mut Report, oom: &read::Report) {
    report.say_all(place::in_traceback(oom).map(|line| ("Where", line)));
    report.say("Said", format!("line {}: {}", count(oom.line), oom.text));
    if let Some(writer) = oom.writer {
        let program = if oom.framework.is_pytorch() { "PyTorch " } else { "" };
        report.say("By", format!("{program}{writer}"));
    }
    let verdict = &oom.verdict;
    report.say("Cause", format!("{}, {} confidence", message::cause(oom), verdict.confidence.name()));
    report.say_all(verdict.why.iter().map(|line| ("", line)));
    report.say_all(oom.shape.map(|shape| ("Shape", shape.sentence)));
    report.say_all(verdict.ask.map(|ask| ("Find out", ask)));
}

/// The numbers of the message, as far as it has them; with all of them the parts add up to the device.
fn memory(report: &mut Report, oom: &read::Report) {
    let facts = &oom.facts;
    let outside =
        facts.outside().map(|outside| outside.saturating_sub(facts.other_process.unwrap_or_default()));
    let rows = [
        (facts.allocated, "in use by tensors"),
        (facts.cached(), "cached by the allocator"),
        (facts.private_pools, "free inside private pools, counted as in use"),
        (facts.other_process, "held by other processes"),
        (outside.filter(|bytes| *bytes > Bytes::ZERO), "outside the allocator: contexts, libraries, others"),
        (facts.other_allocations, "beside tensors, counted against the limit"),
        (facts.pool, "held by the pool in all"),
        (facts.free, "free on the device"),
        (facts.allowed, "allowed to this process"),
        // Where everything counts against one limit, that is all there is.
        (facts.total.filter(|_| facts.other_allocations.is_none()), "on the device in all"),
    ];
    report.figures(breakdown::STATED, &rows);
}

fn fixes(report: &mut Report, oom: &read::Report) {
    if oom.fixes.is_empty() {
        return;
    }
    report.gap();
    report.heading(message::FIXES);
    for (rank, fix) in message::fixes(oom) {
        let text = format!("{} ({}): {}", fix.title, fix.how.name(), message::why(fix));
        report.say(&known(rank, "not"), text);
    }
}

/// What came after the first failure.
fn follow(report: &mut Report, others: &[read::Report]) {
    let failures = others.iter().filter(|oom| oom.role == Role::Follows).count();
    let warnings = others.iter().filter(|oom| oom.role == Role::Warning).count();
    if failures > 0 {
        let failures = counted(failures, "more failure");
        report.say("Then", format!("{failures} in the log, most likely because of this one"));
    }
    if warnings > 0 {
        let warnings = counted(warnings, "warning");
        report.say("Beside", format!("{warnings} of memory that was short but not fatal"));
    }
}
