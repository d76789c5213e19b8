//! What is alive at the failure: how old, what for, by which line, kept by whom.

use std::collections::BTreeMap;

use oomph_trace::sidecar::Keepers;
use oomph_trace::{Bytes, EventIdx};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Given, Role};
use crate::classes::Class;
use crate::judge::Culprit;
use crate::place::{Place, PlaceId, Places};

/// An allocation that is alive at the failure.
#[derive(Clone, Debug)]
pub(super) struct Alive {
    pub(super) bytes: Bytes,
    /// The event that granted it; `None`: it was there before the recording began.
    pub(super) born: Option<EventIdx>,
    /// The event that gave it back; `None`: it was alive to the end.
    pub(super) died: Option<EventIdx>,
    /// In which iteration, counted from 1; 0 before the first.
    pub(super) turn: usize,
    pub(super) class: Class,
    pub(super) place: Option<Place>,
    /// Which place: allocations of one line have the same.
    pub(super) line: PlaceId,
    pub(super) kept: Kept,
    /// Whether a Python object has it that no graph made.
    pub(super) is_plain: bool,
}

/// Who keeps an allocation alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    /// Nobody looked.
    Unknown,
    /// No Python object knows it: a graph keeps it for a backward pass, or C++.
    ByGraph,
    /// Python objects that no variable leads to: a cycle, or an object inside C++.
    ByNobody,
    /// The variable of this place among the keepers.
    By(usize),
}

/// What is alive right before the request that failed.
pub(super) fn alive(given: &Given<'_>, keepers: Option<&Keepers>, places: &mut Places<'_>) -> Vec<Alive> {
    let device = given.evidence.recording.trace().device;
    let mut known: FxHashMap<u64, Kept> = FxHashMap::default();
    let mut plain: FxHashSet<u64> = FxHashSet::default();
    for storage in keepers.map_or(&[][..], |keepers| &keepers.storages) {
        if i64::from(storage.device) == i64::from(device) {
            let kept = match (storage.keeper, storage.in_cycle) {
                (Some(at), _) => Kept::By(at as usize),
                (None, true) => Kept::ByNobody,
                (None, false) => Kept::ByGraph,
            };
            known.insert(storage.addr.0, kept);
            if !storage.has_graph {
                plain.insert(storage.addr.0);
            }
        }
    }
    // Storages below this size were not looked at.
    let looked_at = Bytes(64 << 10);
    let found = given.run.live().map(|(id, allocation, block)| {
        let turn = allocation.born().and_then(|born| given.evidence.steps.under_way(born)).unwrap_or(0);
        let line = places.of(places.stack_of(allocation));
        let unknown = known.is_empty() || allocation.size < looked_at;
        let missing = if unknown { Kept::Unknown } else { Kept::ByGraph };
        Alive {
            bytes: block.size,
            born: allocation.born(),
            died: allocation.died(),
            turn,
            class: given.classes.map_or(Class::Other, |classes| classes.of(id)),
            place: places.get(line).cloned(),
            line,
            kept: known.get(&allocation.addr.0).copied().unwrap_or(missing),
            is_plain: plain.contains(&allocation.addr.0),
        }
    });
    found.collect()
}

/// The bytes of some.
pub(super) fn sum<'a>(of: impl IntoIterator<Item = &'a Alive>) -> Bytes {
    of.into_iter().map(|alive| alive.bytes).sum()
}

/// The lines that made these, most bytes first.
pub(super) fn lines<'a>(of: impl IntoIterator<Item = &'a Alive>, role: Role, most: usize) -> Vec<Culprit> {
    let mut sums: BTreeMap<PlaceId, (Bytes, &Place)> = BTreeMap::new();
    for alive in of {
        if let Some(place) = &alive.place {
            sums.entry(alive.line).or_insert((Bytes::ZERO, place)).0 += alive.bytes;
        }
    }
    let mut lines: Vec<(Bytes, &Place)> = sums.into_values().collect();
    lines.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let culprit =
        |(bytes, place): (Bytes, &Place)| Culprit { line: place.line.clone(), bytes, role, code: None };
    lines.into_iter().take(most).map(culprit).collect()
}

/// Who keeps most of these, and how much; `None` where nobody looked.
pub(super) fn keeper<'a>(of: impl IntoIterator<Item = &'a Alive>) -> Option<(Kept, Bytes)> {
    let mut sums: BTreeMap<Kept, Bytes> = BTreeMap::new();
    for alive in of {
        *sums.entry(alive.kept).or_default() += alive.bytes;
    }
    sums.remove(&Kept::Unknown);
    sums.into_iter().max_by_key(|(_, bytes)| *bytes)
}
