//! Changes that are tried on a copy of the source, to measure what a finding costs. They need not keep what the program
//! computes: nobody is given the copy.
//!
//! In reading order: a place and what is around it, edits of a text, what is kept there, calls that are changed, and
//! the change for each rule.

mod spot;
mod edits;
mod kept;
mod calls;
mod rules;

use ruff_python_ast::{ModModule, PySourceType};
use ruff_python_parser::parse_unchecked_source;

use crate::finding::Finding;
use edits::Edit;
use spot::Spot;

/// A change that can be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    edits: Vec<Edit>,
    /// Whether it is what `--fix` does.
    pub is_fix: bool,
    /// The lines that differ: `-` as they are, `+` as they were tried.
    pub diff: Vec<String>,
}

/// The change for a finding, or why there is none.
pub(crate) fn change(source: &str, module: &ModModule, finding: &Finding) -> Result<Change, &'static str> {
    let spot = Spot::of(source, module, finding.range);
    let edits = match &finding.fix {
        Some(fix) => fix.edits.clone(),
        None => rules::edits(finding.rule, &spot)?,
    };
    // What is no Python any more says nothing.
    let copy = parse_unchecked_source(&edits::applied(source, &edits), PySourceType::Python);
    if !copy.errors().is_empty() {
        return Err(spot::NO_CHANGE);
    }
    let diff = edits::shown(source, &edits);
    Ok(Change { edits, is_fix: finding.fix.is_some(), diff })
}

/// The source with these changes.
pub fn changed(source: &str, changes: &[&Change]) -> String {
    let edits: Vec<Edit> = changes.iter().flat_map(|change| change.edits.iter().cloned()).collect();
    edits::applied(source, &edits)
}
