//! Which changes to try together, where none alone makes the program fit: few runs, and the first that fits soon.

use oomph_trace::Bytes;

use super::options::{Change, Family, Outcome, Together};

/// The changes that a combination is made of: one of each family that the program has something to change for, the one that
/// wins most first. One that wins nothing alone may win where another has moved the peak.
pub(super) fn parts(singles: &[Outcome]) -> Vec<(Change, Bytes)> {
    let mut parts: Vec<(Change, Bytes)> = Vec::new();
    for family in [Family::Precision, Family::Recomputing, Family::Optimizer, Family::Parallelism] {
        let known = singles.iter().filter_map(|outcome| match outcome.together.changes.as_slice() {
            [change] if change.family == family => Some((*change, outcome.need?.needs)),
            _ => None,
        });
        parts.extend(known.min_by_key(|(_, needs)| *needs));
    }
    parts.sort_by_key(|(_, needs)| *needs);
    parts
}

/// What to run first: the two that win most, and all together.
pub(super) fn first(parts: &[(Change, Bytes)]) -> Vec<Together> {
    let changes: Vec<Change> = parts.iter().map(|(change, _)| *change).collect();
    match changes.as_slice() {
        [] | [_] => Vec::new(),
        [one, other] => vec![together(&[*one, *other])],
        [one, other, ..] => vec![together(&[*one, *other]), together(&changes)],
    }
}

/// What to run after that: the other pairs. Nothing where a pair fits, or where all together need too much and each wins
/// something alone (`had` is what is needed with none): then fewer of them need more.
pub(super) fn second(parts: &[(Change, Bytes)], ran: &[Outcome], had: Bytes) -> Vec<Together> {
    let [one, other, third, ..] = parts else { return Vec::new() };
    let pair_fits = ran.iter().any(|outcome| outcome.fits() && outcome.together.changes.len() == 2);
    let all_fit = ran.iter().any(|outcome| outcome.fits() && outcome.together.changes.len() == parts.len());
    let each_wins = parts.iter().all(|(_, needs)| *needs <= had);
    if pair_fits || (!all_fit && each_wins) {
        return Vec::new();
    }
    vec![together(&[one.0, third.0]), together(&[other.0, third.0])]
}

/// A change with the one that wins most, and with all of them.
pub(super) fn around(change: Change, parts: &[(Change, Bytes)]) -> Vec<Together> {
    let others: Vec<Change> = parts.iter().map(|(other, _)| *other).collect();
    let with = |others: &[Change]| together(&[others, &[change]].concat());
    match others.as_slice() {
        [] => Vec::new(),
        [one] => vec![with(&[*one])],
        [one, ..] => vec![with(&[*one]), with(&others)],
    }
}

/// In the order in which changes are always named.
fn together(changes: &[Change]) -> Together {
    let mut changes = changes.to_vec();
    changes.sort_by_key(|change| change.family);
    Together::of(&changes)
}

/// Without those that win next to nothing over fewer changes.
pub(super) fn worth_their_changes(outcomes: Vec<Outcome>) -> Vec<Outcome> {
    let is_worth = |outcome: &Outcome| {
        !outcomes.iter().any(|other| {
            other.together.count() < outcome.together.count()
                && other.together.is_part_of(&outcome.together)
                && other.fits() == outcome.fits()
                && other.need.is_some_and(|need| !outcome.wins_over(need.needs))
        })
    };
    let kept: Vec<bool> = outcomes.iter().map(is_worth).collect();
    outcomes.into_iter().zip(kept).filter_map(|(outcome, is_kept)| is_kept.then_some(outcome)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::options::{LORA, changes};
    use super::super::vary::Need;
    use super::*;

    fn outcome(keys: &[&str], gib: u64) -> Outcome {
        let all = changes((8, 0), 1);
        let made: Vec<Change> =
            keys.iter().flat_map(|key| all.iter().find(|change| change.key == *key)).copied().collect();
        let need = Need { fits: gib <= 8, needs: Bytes::gib(gib) };
        Outcome { together: together(&made), need: Some(need), beside: Bytes::ZERO }
    }

    fn keys(all: &[Together]) -> Vec<String> {
        all.iter().map(Together::key).collect()
    }

    #[test]
    fn the_best_two_and_all_of_them_come_first() {
        let singles = [
            outcome(&["autocast"], 12),
            outcome(&["checkpointing"], 10),
            outcome(&["fused"], 20),
            outcome(&["foreach"], 20),
        ];
        let parts = parts(&singles);
        assert_eq!(keys(&first(&parts)), ["autocast-checkpointing", "autocast-checkpointing-fused"]);
        let had = Bytes::gib(20);
        let pair = |gib| outcome(&["autocast", "checkpointing"], gib);
        let all = |gib| outcome(&["autocast", "checkpointing", "fused"], gib);
        // A pair is enough; all are needed, or another pair; nothing is enough.
        assert_eq!(second(&parts, &[pair(8), all(7)], had), []);
        assert_eq!(keys(&second(&parts, &[pair(9), all(8)], had)), ["checkpointing-fused", "autocast-fused"]);
        assert_eq!(second(&parts, &[pair(10), all(9)], had), []);
        // Autocast alone makes it worse, so it may do so together with others.
        let had = Bytes::gib(11);
        assert_eq!(second(&parts, &[pair(10), all(9)], had).len(), 2);
    }

    #[test]
    fn another_training_is_tried_with_the_best_of_the_others_and_with_all() {
        let singles =
            [outcome(&["autocast"], 12), outcome(&["checkpointing"], 10), outcome(&["eight-bit"], 11)];
        let tried = around(LORA, &parts(&singles));
        assert_eq!(keys(&tried), ["checkpointing-lora", "autocast-checkpointing-eight-bit-lora"]);
        assert_eq!(keys(&around(LORA, &parts(&singles[..1]))), ["autocast-lora"]);
        assert_eq!(around(LORA, &[]), []);
    }

    #[test]
    fn what_cannot_be_changed_is_no_part() {
        let singles = [outcome(&["autocast"], 12), outcome(&["foreach"], 20)];
        assert_eq!(keys(&first(&parts(&singles))), ["autocast-foreach"]);
        assert_eq!(first(&parts(&singles[..1])), []);
        assert_eq!(second(&parts(&singles), &[], Bytes::gib(20)), []);
    }

    #[test]
    fn a_change_that_adds_nothing_is_left_out() {
        let pair = outcome(&["autocast", "checkpointing"], 7);
        let all = outcome(&["autocast", "checkpointing", "fused"], 7);
        assert_eq!(worth_their_changes(vec![all, pair.clone()]), std::slice::from_ref(&pair));
        let more = outcome(&["autocast", "checkpointing", "fused"], 6);
        assert_eq!(worth_their_changes(vec![more.clone(), pair.clone()]), [more, pair]);
    }
}
