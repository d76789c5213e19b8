//! `oomph rule` as text.

use std::fmt::Write as _;

use oomph_diagnose::rules::RuleInfo;

use super::style::{Align, Colour, table};

/// Every rule, a line each.
pub fn list(rules: &[&RuleInfo]) -> String {
    let mut out =
        String::from("What `oomph explain` can find in a recording; `oomph rule OOM003` says more.\n\n");
    let rows: Vec<Vec<String>> =
        rules.iter().map(|info| vec![info.id.to_owned(), info.summary.to_owned()]).collect();
    table(&mut out, 2, &[Align::Left, Align::Left], &rows);
    out
}

/// One rule's page.
pub fn page(info: &RuleInfo, colour: Colour) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}\n", colour.strong(&format!("{} {}", info.id, info.name)));
    out.push_str(info.page.trim());
    out.push('\n');
    out
}
