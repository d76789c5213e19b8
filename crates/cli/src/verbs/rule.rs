//! `oomph rule`.

use anyhow::Result;
use oomph_diagnose::rules;
use oomph_report::{json, text};

use crate::args::{Common, UsageError};
use crate::output;

/// One rule's page, or the list of all.
pub(crate) fn run(rule: Option<&str>, common: &Common) -> Result<()> {
    let Some(wanted) = rule else {
        let all: Vec<_> = rules::all().iter().collect();
        let text = if common.json {
            json::printed(&all)
        } else {
            format!("{}\n{}", text::rules::list(&all), text::lint::rules())
        };
        return output::write(&text, common);
    };
    if let Some(rule) = oomph_lint::Rule::numbered(wanted) {
        return output::write(&text::lint::page(rule), common);
    }
    let Some(info) = rules::info(wanted) else {
        let last = rules::all().last().map_or("", |info| info.id);
        let last_of_lint = oomph_lint::Rule::ALL.last().map(|rule| rule.id()).unwrap_or_default();
        let text = format!(
            "there is no rule `{wanted}`: they are OOM001 to {last} and OOL001 to {last_of_lint}, and `oomph rule` lists them"
        );
        return Err(UsageError(text).into());
    };
    let text =
        if common.json { json::printed(&[info]) } else { text::rules::page(info, output::colour(common)) };
    output::write(&text, common)
}
