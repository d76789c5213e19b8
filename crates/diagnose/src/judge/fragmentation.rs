//! All that the step needs would have fitted, but what was free lay in pieces.

use super::census::sum;
use super::{Basis, Case, Kind, Lives, Verdict};
use crate::cause::Cause;
use crate::classes::Class;
use oomph_trace::Bytes;

/// From this share on, weights are most of what there is.
const MOSTLY: f64 = 0.6;
/// From this share of all there is on, what is left is room for more than one request.
const ROOM: f64 = 0.05;
/// A step that is foreseen to need less than this share fits.
const KNOWN: f64 = 0.98;
/// The same in the first step, of which nothing is known.
const FIRST_ROOM: f64 = 0.3;

pub(super) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let setting = case.best_setting();
    let weights = case.alive.iter().filter(|alive| alive.class == Class::Weights);
    // Weights come to stay: what else there is room for does not matter.
    if sum(weights).share_of(case.limit) >= MOSTLY {
        return None;
    }
    // Little room is room for this request, not for the step: only a step like those before it is known to fit.
    let room = case.limit.saturating_sub(case.needed);
    let is_known = case.need.is_foreseen && case.need.total.share_of(case.limit) < KNOWN;
    let fits = is_known || room.share_of(case.limit) >= ROOM;
    if case.needed > case.limit
        || case.need.total > case.limit
        || !fits
        || case.need.is_first && room.share_of(case.limit) < FIRST_ROOM
    {
        return None;
    }
    // Where no setting serves the request, only what lies with another pool or stream could have.
    let stranded = case.failed.stranded;
    let elsewhere = stranded.other_pool + stranded.other_stream + stranded.refused;
    if setting.is_none() && elsewhere < case.failed.size {
        return None;
    }
    let free = case.limit.saturating_sub(case.evidence.moment.counters.active);
    let (size, largest) = (case.failed.size, case.failed.stranded.largest);
    let claim = format!(
        "{free} of {} was free, but in pieces: none could serve {size} (the largest had {largest})",
        case.limit
    );
    let mut verdict = Verdict::new(Cause::Fragmentation, Kind::Fragmentation, claim).blame(case.asked());
    let stranding = case.alive.iter().filter(|alive| alive.bytes >= Bytes::mib(1));
    verdict = verdict.blame(super::census::lines(stranding, super::Role::Made, 3));
    let cached = case.evidence.moment.counters.cached();
    if case.evidence.moment.private.0 * 2 > cached.0 {
        let why = format!(
            "{} is cached in private pools, which serve nobody else and are not given back while in use",
            case.evidence.moment.private
        );
        let action = "let a private pool go when it is not in use (`del` the MemPool or CUDA graph), or ask for less in it";
        verdict = verdict.cure(action, Basis::Computed, Lives::ForGood, why);
    }
    if let Some(fix) = setting {
        let peak = fix.candidate.peak_reserved;
        let why = if peak <= case.limit {
            format!("the recording completes with it, in {peak} of {}", case.limit)
        } else {
            let times = match fix.candidate.retries {
                1 => "once".to_owned(),
                retries => format!("{retries} times"),
            };
            format!("the recording completes with it, in {}: the cache is given up {times}", case.limit)
        };
        let action = format!("PYTORCH_CUDA_ALLOC_CONF={}", fix.candidate.options);
        verdict = verdict.cure(action, Basis::Replayed, lives(case), why).needs(peak.min(case.limit));
    }
    let why = "equal requests reuse each other's blocks; what comes first shapes the segments";
    verdict = verdict.cure(
        "fewer different sizes: pad to buckets, and put the largest batch first",
        Basis::Practice,
        Lives::Unknown,
        why,
    );
    Some(
        verdict
            .not(Cause::Capacity, format!("{} was needed in all, {} is there", case.need.total, case.limit))
            .sealed(),
    )
}

/// How long the job lives where what was free can be used: for good, where its steps are known to fit and nothing grows.
fn lives(case: &Case<'_>) -> Lives {
    match &case.evidence.steps.growth {
        Some(growth) => case.life_unfragmented(growth.per_step),
        None if case.need.rise > Bytes::ZERO => {
            let room = case.limit.saturating_sub(case.need.total);
            Lives::Steps(1 + room.0 / case.need.rise.0)
        }
        None if case.need.is_foreseen => Lives::ForGood,
        None => Lives::Unknown,
    }
}
