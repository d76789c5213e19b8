//! `oomph plan --serve`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use oomph_diagnose::results::serve::ServeResult;
use oomph_launch::plan::planner::Cards;
use oomph_launch::plan::serve::fields::ConfigError;
use oomph_launch::plan::serve::server::{self, ServeRequest};
use oomph_report::{json, text};

use super::plan::{cards, code, usage};
use crate::args::{Common, Plan, UsageError};
use crate::output;

/// vLLM's default.
const UTILIZATION: f64 = 0.9;

pub(crate) fn run(config: &Path, args: &Plan, common: &Common) -> Result<ExitCode> {
    let asked = &args.serve;
    let request = ServeRequest {
        config: config.to_path_buf(),
        cards: cards(args),
        weights: asked.dtype,
        cache: asked.kv_dtype,
        context: asked.context,
        sequences: asked.sequences,
        tensor_parallel: asked.tensor_parallel.unwrap_or(1),
        utilization: asked.utilization.unwrap_or(UTILIZATION),
        python: args.python.clone(),
        longest: Duration::from_secs(args.timeout),
    };
    let results = server::serve(&request).map_err(|error| match error.downcast_ref::<ConfigError>() {
        Some(wrong) => UsageError(wrong.to_string()).into(),
        None => usage(error),
    })?;
    let colour = output::colour(common);
    let text = match (common.json, results.as_slice()) {
        (true, results) => json::document(results.iter().map(json::serve)),
        (false, [one]) => text::serve::render(one, colour),
        (false, several) => text::serve::cards(several, colour),
    };
    output::write(&text, common)?;
    let fits: Vec<Option<bool>> = results.iter().map(ServeResult::fits).collect();
    Ok(ExitCode::from(code(&fits, matches!(request.cards, Cards::All))))
}
