//! Replays on all cores. The libraries know no threads; this is where they meet them.

use oomph_diagnose::tune::{Candidate, Search};
use oomph_engine::torch::options::Options;
use rayon::prelude::*;

/// Every setting, with the smallest limit of each.
pub fn evaluate(search: &Search<'_>, settings: &[Options]) -> Vec<Candidate> {
    settings.par_iter().with_max_len(1).map(|options| search.evaluate(options)).collect()
}

/// Every setting, under the limit only.
pub fn evaluate_at_limit(search: &Search<'_>, settings: &[Options]) -> Vec<Candidate> {
    settings.par_iter().with_max_len(1).map(|options| search.evaluate_at_limit(options)).collect()
}
