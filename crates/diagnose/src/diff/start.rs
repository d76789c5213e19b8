//! What one recording shows and the other found there already, since it began later: weights, a library's workspace.
//!
//! Such memory has a line on one side and none on the other, so that it would look gone, or new. It is known by its size:
//! something of this size was there when the other recording began, and to its end, and not when this one began; and
//! here a line asks for something of this size and keeps it to the end, more often than the same line does there.

use std::collections::BTreeMap;

use oomph_engine::program::AllocId;
use oomph_trace::Bytes;

use super::side::{Side, Source};

/// The allocations of `here` that were there already when the recording of `there` began. `same` gives the source of
/// `there` for one of `here`, where it has one.
pub(super) fn already_there(
    here: &Side<'_>,
    there: &Side<'_>,
    same: impl Fn(Source) -> Option<Source>,
) -> Vec<AllocId> {
    let mut found = found(there);
    for (size, count) in self::found(here) {
        let left = found.entry(size).or_default();
        *left = left.saturating_sub(count);
    }
    found.retain(|_, count| *count > 0);
    if found.is_empty() {
        return Vec::new();
    }
    let mut theirs: BTreeMap<(Source, Bytes), usize> = BTreeMap::new();
    for (id, size) in lasting(there) {
        *theirs.entry((there.source_of(id), size)).or_default() += 1;
    }
    let mut already = Vec::new();
    for (id, size) in lasting(here) {
        let counterpart = same(here.source_of(id)).and_then(|source| theirs.get_mut(&(source, size)));
        match counterpart {
            Some(count) if *count > 0 => *count -= 1,
            _ => {
                if let Some(count) = found.get_mut(&size).filter(|count| **count > 0) {
                    *count -= 1;
                    already.push(id);
                }
            }
        }
    }
    already
}

/// What was there at the start, without a line, and is there to the end: how many of each size.
fn found(side: &Side<'_>) -> BTreeMap<Bytes, usize> {
    let allocations = &side.recording.program.allocations;
    let mut sizes = BTreeMap::new();
    for id in side.found_there().filter(|id| allocations[id.index()].freed().is_none()) {
        *sizes.entry(allocations[id.index()].size).or_default() += 1;
    }
    sizes
}

/// What was asked for and not given back, in order.
fn lasting<'a>(side: &'a Side<'_>) -> impl Iterator<Item = (AllocId, Bytes)> + 'a {
    let births = side.recording.program.births();
    births
        .filter(|(_, _, allocation)| allocation.freed().is_none())
        .map(|(_, id, allocation)| (id, allocation.size))
}
