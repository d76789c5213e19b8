//! Whose pool each allocation came from.
//!
//! From PyTorch 2.12 on the events say it. Before, only the final segments do: an allocation belongs to the owner of
//! the segment it lies in. A segment that was given back before the end has no such witness and counts as default,
//! unless an event names another.

use std::collections::BTreeMap;

use oomph_trace::{Action, Addr, Bytes, Event, PoolId, Snapshot, Trace};
use rustc_hash::FxHashMap;

use super::{Assumptions, OwnerInfo, UnownedSegment};
use crate::torch::block::OwnerIdx;

/// The owners of a trace and of each of its events.
pub(super) struct Ownership {
    pub(super) owners: Vec<OwnerInfo>,
    /// By event; empty where there is only the default owner.
    of_event: Vec<OwnerIdx>,
    by_pool: FxHashMap<PoolId, OwnerIdx>,
    /// Segments whose owner nothing tells.
    pub(super) unowned: Vec<UnownedSegment>,
}

impl Ownership {
    pub(super) fn of_event(&self, index: usize) -> OwnerIdx {
        self.of_event.get(index).copied().unwrap_or(OwnerIdx::DEFAULT)
    }

    pub(super) fn of_pool(&self, pool: PoolId) -> OwnerIdx {
        self.by_pool.get(&pool).copied().unwrap_or(OwnerIdx::DEFAULT)
    }
}

/// `captures_all`: every pool scope counts as a capture (up to PyTorch 2.12).
pub(super) fn read(
    snapshot: &Snapshot,
    trace: &Trace,
    captures_all: bool,
    assumptions: &Assumptions,
) -> Ownership {
    let mut ownership = Ownership {
        owners: vec![OwnerInfo { id: PoolId::DEFAULT, captures: false }],
        of_event: Vec::new(),
        by_pool: FxHashMap::from_iter([(PoolId::DEFAULT, OwnerIdx::DEFAULT)]),
        unowned: Vec::new(),
    };
    let of_segments = trace.segments.iter().map(|segment| segment.pool);
    let of_events = trace.events.iter().filter_map(|event| event.pool);
    let mut pools: Vec<PoolId> = of_segments.chain(of_events).map(|pool| snapshot.pool_id(pool)).collect();
    pools.sort_unstable();
    pools.dedup();
    for id in pools.into_iter().filter(|id| *id != PoolId::DEFAULT) {
        ownership.by_pool.insert(id, OwnerIdx(ownership.owners.len() as u16));
        // Pools of graphs are (n, 0); those of `MemPool` are (0, n) and capture nothing.
        ownership.owners.push(OwnerInfo { id, captures: captures_all || id.1 == 0 });
    }
    let named = ownership.owners.len();
    let assumed = assumptions.private.values().max().map_or(0, |last| last + 1);
    // Their names are lost with them; these are made up, and say so by being no name PyTorch gives.
    let lost = (1..=assumed as u64).map(|n| OwnerInfo { id: PoolId(n, n), captures: captures_all });
    ownership.owners.extend(lost);
    if !ownership.by_events(trace) {
        ownership.unowned = unowned_segments(trace);
    }
    if ownership.owners.len() > 1 {
        let assumed =
            |born: usize| assumptions.private.get(&born).map(|pool| OwnerIdx((named + pool) as u16));
        ownership.of_event = attribute(snapshot, trace, &ownership.by_pool, &assumed);
    }
    ownership
}

impl Ownership {
    /// Whether the events themselves name their pools.
    fn by_events(&self, trace: &Trace) -> bool {
        trace.events.iter().any(|event| event.pool.is_some())
    }
}

/// The segments that were made and given back within the trace.
fn unowned_segments(trace: &Trace) -> Vec<UnownedSegment> {
    let mut born: FxHashMap<Addr, usize> = FxHashMap::default();
    let mut unowned = Vec::new();
    for (index, event) in trace.events.iter().enumerate() {
        match event.action {
            Action::SegmentAlloc => {
                born.insert(event.addr, index);
            }
            Action::SegmentFree => {
                if let Some(born) = born.remove(&event.addr) {
                    let Event { addr, size, stream, .. } = *event;
                    unowned.push(UnownedSegment { born, died: index, addr, size, stream });
                }
            }
            _ => {}
        }
    }
    unowned
}

/// Walks the events backwards from the final segments, so that each address is seen in the segment of its time.
fn attribute(
    snapshot: &Snapshot,
    trace: &Trace,
    by_pool: &FxHashMap<PoolId, OwnerIdx>,
    assumed: &dyn Fn(usize) -> Option<OwnerIdx>,
) -> Vec<OwnerIdx> {
    let owner_of = |pool| by_pool.get(&snapshot.pool_id(pool)).copied().unwrap_or(OwnerIdx::DEFAULT);
    let mut held: BTreeMap<Addr, (Bytes, OwnerIdx)> = BTreeMap::new();
    for segment in &trace.segments {
        held.insert(segment.addr, (segment.size, owner_of(segment.pool)));
    }
    let given_back: FxHashMap<usize, OwnerIdx> = unowned_segments(trace)
        .into_iter()
        .filter_map(|segment| Some((segment.died, assumed(segment.born)?)))
        .collect();
    let mut owners = vec![OwnerIdx::DEFAULT; trace.events.len()];
    for (index, event) in trace.events.iter().enumerate().rev() {
        let around = held.range(..=event.addr).next_back();
        let inside =
            around.filter(|(addr, (size, _))| event.addr.0 - addr.0 < size.0).map(|(_, (_, owner))| *owner);
        let named = event.pool.map(owner_of).or_else(|| given_back.get(&index).copied());
        let owner = named.or(inside).unwrap_or_default();
        owners[index] = owner;
        match event.action {
            Action::SegmentFree | Action::SegmentUnmap => {
                held.insert(event.addr, (event.size, owner));
            }
            Action::SegmentAlloc => {
                held.remove(&event.addr);
            }
            _ => {}
        }
    }
    owners
}
