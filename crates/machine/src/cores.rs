//! Replays on all cores. The libraries know no threads; this is where they meet them.

use anyhow::{Context, Result};
use oomph_diagnose::placements::{self, Way};
use oomph_diagnose::tune::{Candidate, Search};
use oomph_engine::recording::Recording;
use oomph_engine::torch::options::Options;
use oomph_trace::Bytes;
use oomph_trace::sidecar::Doubt;
use rayon::prelude::*;

/// Every setting, with the smallest limit of each.
pub fn evaluate(search: &Search<'_>, settings: &[Options]) -> Vec<Candidate> {
    settings.par_iter().with_max_len(1).map(|options| search.evaluate(options)).collect()
}

/// The few that most often help, under the limit only.
pub fn evaluate_shortlist(search: &Search<'_>) -> Vec<Candidate> {
    search.shortlist().par_iter().with_max_len(1).map(|options| search.evaluate_at_limit(options)).collect()
}

/// The least and the most that a job holds at its peak, as recorded and with its segments put elsewhere by the driver; and
/// with other sizes of workspaces that are known only nearly, in the order of their bytes.
pub fn held_between(recording: &Recording, doubts: &[Doubt]) -> (Bytes, Bytes) {
    let own = recording.peaks.reserved.bytes;
    let ways = placements::ways(recording);
    let turns = (0_u32..).zip(&ways).filter(|_| !doubts.is_empty());
    let all: Vec<(Way, Option<u32>)> =
        ways.iter().map(|way| (*way, None)).chain(turns.map(|(turn, way)| (*way, Some(turn)))).collect();
    let held = all.into_par_iter().map(|(way, turn)| match turn {
        None => placements::held(recording, way),
        Some(turn) => placements::held_nearly(recording, doubts, way, turn),
    });
    held.map(|held| (held, held)).reduce(|| (own, own), |one, other| (one.0.min(other.0), one.1.max(other.1)))
}

/// Two things at the same time.
pub(crate) fn both<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    rayon::join(one, other)
}

/// Does the work on threads that end with it. The threads that rayon otherwise shares do not exist in a child after
/// `fork`, which would wait for them forever; and Python programs fork.
pub fn with_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    let threads = rayon::ThreadPoolBuilder::new()
        .build()
        .context("cannot start threads: raise the limit of processes (ulimit -u)")?;
    Ok(threads.install(work))
}
