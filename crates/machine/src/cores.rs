//! Replays on all cores. The libraries know no threads; this is where they meet them.

use anyhow::{Context, Result};
use oomph_diagnose::tune::{Candidate, Search};
use oomph_engine::torch::options::Options;
use rayon::prelude::*;

/// Every setting, with the smallest limit of each.
pub fn evaluate(search: &Search<'_>, settings: &[Options]) -> Vec<Candidate> {
    settings.par_iter().with_max_len(1).map(|options| search.evaluate(options)).collect()
}

/// The few that most often help, under the limit only.
pub fn evaluate_shortlist(search: &Search<'_>) -> Vec<Candidate> {
    search.shortlist().par_iter().with_max_len(1).map(|options| search.evaluate_at_limit(options)).collect()
}

/// Does the work on threads that end with it. The threads that rayon otherwise shares do not exist in a child after
/// `fork`, which would wait for them forever; and Python programs fork.
pub fn with_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    let threads = rayon::ThreadPoolBuilder::new()
        .build()
        .context("cannot start threads: raise the limit of processes (ulimit -u)")?;
    Ok(threads.install(work))
}
