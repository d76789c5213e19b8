//! Whose pool each allocation came from.
//!
//! From PyTorch 2.12 on the events say it. Before, only the final segments do: an allocation belongs to the owner of
//! the segment it lies in. A segment that was given back before the end has no such witness and counts as default,
//! unless an event names another.

use std::collections::BTreeMap;

use oomph_trace::{Action, Addr, Bytes, Event, PoolId, PoolIdx, Trace};
use rustc_hash::FxHashMap;

use super::{OwnerInfo, Source, Survey, UnownedSegment, shrinks};
use crate::torch::block::OwnerIdx;

/// The owners of a trace and of each of its events.
pub(super) struct Ownership {
    pub(super) owners: Vec<OwnerInfo>,
    /// By event; empty where there is only the default owner.
    of_event: Vec<OwnerIdx>,
    /// By the pool's place in the snapshot.
    of_pool: Vec<OwnerIdx>,
    /// Segments whose owner nothing tells.
    pub(super) unowned: Vec<UnownedSegment>,
}

impl Ownership {
    pub(super) fn read(source: &Source<'_>) -> Ownership {
        let Source { snapshot, trace, survey, assumptions, .. } = source;
        // Up to PyTorch 2.12 every pool scope counts as a capture.
        let captures_all = source.profile.pool_scope_blocks_release;
        let of_segments = trace.segments.iter().map(|segment| segment.pool);
        let of_events = survey.pools.iter().copied();
        let mut pools: Vec<PoolId> =
            of_segments.chain(of_events).map(|pool| snapshot.pool_id(pool)).collect();
        pools.sort_unstable();
        pools.dedup();
        pools.retain(|id| *id != PoolId::DEFAULT);
        let owner_of =
            |id: &PoolId| pools.binary_search(id).map_or(OwnerIdx::DEFAULT, |n| OwnerIdx(n as u16 + 1));
        let of_pool: Vec<OwnerIdx> = snapshot.pools.iter().map(owner_of).collect();
        let mut owners = vec![OwnerInfo { id: PoolId::DEFAULT, captures: false }];
        // Pools of graphs are (n, 0); those of `MemPool` are (0, n) and capture nothing.
        owners.extend(pools.iter().map(|id| OwnerInfo { id: *id, captures: captures_all || id.1 == 0 }));
        let named = owners.len();
        // The names of assumed pools are lost; (n, n) is a name that PyTorch gives to none.
        let lost = 1..=assumptions.next_pool() as u64;
        owners.extend(lost.map(|n| OwnerInfo { id: PoolId(n, n), captures: captures_all }));
        let given_back = segments_given_back(trace, survey);
        let of_event = if owners.len() > 1 {
            let assumed = |segment: &UnownedSegment| {
                let pool = assumptions.private.get(&segment.born)?;
                Some((segment.died, OwnerIdx((named + pool) as u16)))
            };
            attribute(trace, &of_pool, &given_back.iter().filter_map(assumed).collect())
        } else {
            Vec::new()
        };
        let unowned = if survey.pools.is_empty() { given_back } else { Vec::new() };
        Ownership { owners, of_event, of_pool, unowned }
    }

    pub(super) fn of_event(&self, index: usize) -> OwnerIdx {
        self.of_event.get(index).copied().unwrap_or(OwnerIdx::DEFAULT)
    }

    pub(super) fn of_pool(&self, pool: PoolIdx) -> OwnerIdx {
        self.of_pool[usize::from(pool.0)]
    }
}

/// The segments that were made and given back within the trace.
fn segments_given_back(trace: &Trace, survey: &Survey) -> Vec<UnownedSegment> {
    let mut born: FxHashMap<Addr, usize> = FxHashMap::default();
    let mut segments = Vec::new();
    for (died, event) in survey.driver(trace) {
        let Event { addr, size, stream, .. } = *event;
        if event.action == Action::SegmentAlloc {
            born.insert(addr, died);
        } else if event.action == Action::SegmentFree
            && let Some(born) = born.remove(&addr)
        {
            segments.push(UnownedSegment { born, died, addr, size, stream });
        }
    }
    segments
}

/// Walks the events backwards from the final segments, so that each address is seen in the segment of its time.
/// `assumed`: the owners of segments by the event that gave them back.
fn attribute(trace: &Trace, of_pool: &[OwnerIdx], assumed: &FxHashMap<usize, OwnerIdx>) -> Vec<OwnerIdx> {
    let owner_of = |pool: PoolIdx| of_pool[usize::from(pool.0)];
    let finally = trace.segments.iter();
    let mut held: BTreeMap<Addr, (Bytes, OwnerIdx)> =
        finally.map(|segment| (segment.addr, (segment.size, owner_of(segment.pool)))).collect();
    let mut owners = vec![OwnerIdx::DEFAULT; trace.events.len()];
    for (index, event) in trace.events.iter().enumerate().rev() {
        let around = held.range(..=event.addr).next_back();
        let inside =
            around.filter(|(addr, (size, _))| event.addr.0 - addr.0 < size.0).map(|(_, (_, owner))| *owner);
        let named = event.pool.map(owner_of).or_else(|| assumed.get(&index).copied());
        owners[index] = named.or(inside).unwrap_or_default();
        if shrinks(event.action) {
            held.insert(event.addr, (event.size, owners[index]));
        } else if event.action == Action::SegmentAlloc {
            held.remove(&event.addr);
        }
    }
    owners
}
