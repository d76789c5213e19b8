//! `oomph rule` as text.

use oomph_diagnose::rules::RuleInfo;

use super::report::{Align, Colour, Report, row};

/// Every rule, a line each.
pub fn list(rules: &[&RuleInfo]) -> String {
    let title = "What `oomph explain` can find in a recording; `oomph rule OOM003` says more.";
    let mut report = Report::new(title, Colour::Off);
    report.gap();
    let rows: Vec<_> = rules.iter().map(|info| row![info.id, info.summary]).collect();
    report.table(2, &[Align::Left, Align::Left], &rows);
    report.finish()
}

/// One rule's page.
pub fn page(info: &RuleInfo, colour: Colour) -> String {
    let mut report = Report::new(&format!("{} {}", info.id, info.name), colour);
    report.gap();
    report.line(info.page.trim());
    report.finish()
}
