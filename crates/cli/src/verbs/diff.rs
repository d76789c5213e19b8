//! `oomph diff`.

use std::process::ExitCode;

use anyhow::Result;
use oomph_machine::compare;
use oomph_report::{json, text};

use crate::args::{Common, Diff};
use crate::output;

/// Exit code of a job that needs more than is allowed.
const OVER: u8 = 1;

/// Compares, and exits with 1 where a job needs more than is allowed.
pub(crate) fn run(args: &Diff, common: &Common) -> Result<ExitCode> {
    let compared = compare::paths(&args.a, &args.b)?;
    for name in &compared.alone {
        output::complain(&format!("oomph: {name} has no counterpart: it is not compared"));
    }
    let allowed = args.fail_over;
    output::results(
        &compared.results,
        common,
        |result| json::diff(result, allowed),
        |result, colour| text::diff::render(result, allowed, colour),
    )?;
    let Some(allowed) = allowed else { return Ok(ExitCode::SUCCESS) };
    let is_over = compared.results.iter().any(|result| !result.over(allowed).is_empty());
    Ok(match (is_over, compared.alone.is_empty()) {
        (true, _) => ExitCode::from(OVER),
        // What was not compared may have grown.
        (false, false) => ExitCode::from(crate::UNTOLD),
        (false, true) => ExitCode::SUCCESS,
    })
}
