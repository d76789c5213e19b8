//! Generation keeps keys and values of every token of every sequence, and they no longer fit.

use oomph_trace::Bytes;
use oomph_trace::sidecar::Keeper;

use super::census::{Alive, lines, sum};
use super::{Basis, Case, Kind, Role, Verdict};
use crate::cause::Cause;
use crate::place::Place;

/// Less than this share of all there is does not end a job.
const NOTABLE: f64 = 0.2;
/// Where transformers keeps them.
const CACHES: &str = "cache_utils.py";

pub(super) fn judge(case: &Case<'_>) -> Option<Verdict> {
    let generates =
        |(file, _, function): &(&str, u32, &str)| file.ends_with(CACHES) || *function == "generate";
    let in_cache = case.frames().iter().any(generates);
    let trains = case.keepers.is_some_and(|keepers| !keepers.optimizers.is_empty());
    let made_there = |place: &Place| place.within.as_ref().is_some_and(|line| line.file.ends_with(CACHES));
    let kept_there = |keeper: &Keeper| {
        keeper.place.contains(CACHES) || ["past", "cache"].iter().any(|word| keeper.path.contains(word))
    };
    let is_cached = |alive: &&Alive| {
        alive.place.as_ref().is_some_and(made_there) || case.variable(alive.kept).is_some_and(kept_there)
    };
    let cached: Vec<&Alive> = case.alive.iter().filter(is_cached).collect();
    let bytes = sum(cached.iter().copied());
    if trains || !in_cache || bytes.share_of(case.limit) < NOTABLE {
        return None;
    }
    let claim = format!(
        "keys and values of all tokens so far take {bytes} of {}, and grow with every token; {} was in use and {} asked for",
        case.limit, case.evidence.moment.counters.active, case.failed.size
    );
    let needs = case.needed.saturating_sub(Bytes(bytes.0 / 2));
    let verdict = Verdict::new(Cause::Capacity, Kind::KvCache, claim)
        .blame(case.asked())
        .blame(lines(cached, Role::Made, 2))
        .cure(
            "fewer sequences at once (a smaller batch) or fewer tokens (`max_new_tokens`), or a cache that is offloaded or quantized (`cache_implementation=`)",
            Basis::Computed,
            case.lives_needing(needs),
            format!("it grows with sequences times tokens: half the sequences need {needs} here"),
        )
        .needs(needs)
        .not(Cause::Fragmentation, "what is in pieces would be filled some tokens later");
    Some(verdict.sealed())
}
