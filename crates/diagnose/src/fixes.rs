//! Which of the settings that were replayed would have helped, the best first.

use crate::tune::Candidate;

/// A change of settings and what a replay says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// The replay's result.
    pub candidate: Candidate,
    /// Whether it helps: serves what failed, or lowers the peak by 1% or more.
    pub helps: bool,
}

/// A setting that drops the whole cache more often than this is no cure: each time all that is cached is asked of the
/// driver again.
const MANY_RETRIES: u64 = 16;

/// Judges the candidates against the first, which is the recorded setting.
///
/// Those that help come first, and of them those that do not drop the cache over and over. Among those that are about as good, the simpler comes first: as good is what leaves as
/// much room after the request that failed, or without a failure what holds as little.
pub(crate) fn rank(candidates: &[Candidate]) -> Vec<Fix> {
    let Some((recorded, others)) = candidates.split_first() else { return Vec::new() };
    let lower =
        |candidate: &Candidate| candidate.peak_reserved.0 as f64 <= recorded.peak_reserved.0 as f64 * 0.99;
    let helps = |candidate: &Candidate| candidate.completes && (!recorded.completes || lower(candidate));
    let mut fixes: Vec<Fix> = others
        .iter()
        .map(|candidate| Fix { candidate: candidate.clone(), helps: helps(candidate) })
        .collect();
    let helping = fixes.iter().filter(|fix| fix.helps).map(|fix| &fix.candidate);
    let most_room = helping.clone().filter_map(|candidate| candidate.room).max();
    let lowest = helping.map(|candidate| candidate.peak_reserved).min().unwrap_or_default();
    fixes.sort_by_key(|fix| {
        let candidate = &fix.candidate;
        let (close, worse) = match (most_room, candidate.room) {
            (Some(most), Some(room)) => (room.0 as f64 >= most.0 as f64 * 0.9, most.saturating_sub(room)),
            _ => (candidate.peak_reserved.0 as f64 <= lowest.0 as f64 * 1.02, candidate.peak_reserved),
        };
        let order =
            if close { (candidate.options.keys().len(), candidate.peak_reserved) } else { (0, worse) };
        (
            !fix.helps,
            candidate.retries > MANY_RETRIES,
            !close,
            order,
            candidate.retries,
            candidate.options.to_string(),
        )
    });
    fixes
}
