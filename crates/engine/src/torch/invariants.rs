//! What must hold after every call; tests check it after every step.

use std::collections::BTreeMap;

use oomph_trace::Bytes;

use super::Torch;
use super::block::{BlockId, Segment, State};
use super::pool::Pool;
use super::rounding::MIN_BLOCK;
use crate::counters::Counters;
use crate::device::Device;

impl<D: Device> Torch<D> {
    /// Checks every invariant in time linear in the blocks; an error names the first that is broken.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.check_tiling()?;
        self.check_sets()?;
        self.check_counters()
    }

    /// The blocks of a segment tile it, their links agree, and no two neighbours could be merged.
    fn check_tiling(&self) -> Result<(), String> {
        let mut by_segment: BTreeMap<_, Vec<BlockId>> = BTreeMap::new();
        for (id, block) in self.blocks.iter() {
            by_segment.entry(block.segment).or_default().push(id);
        }
        for (segment, entry) in self.segments.iter() {
            let mut ids = by_segment.remove(&segment).ok_or(format!("segment {segment:?} has no blocks"))?;
            ids.sort_by_key(|id| self.blocks[*id].addr);
            let mut end = entry.addr;
            for (place, id) in ids.iter().enumerate() {
                let block = &self.blocks[*id];
                let addr = block.addr;
                ensure(addr == end, || format!("block at {addr} follows a gap or overlap at {end}"))?;
                end = addr.offset(block.size);
                let below = place.checked_sub(1).map(|below| ids[below]);
                let is_linked = block.prev == below && block.next == ids.get(place + 1).copied();
                ensure(is_linked, || format!("block at {addr} is linked to the wrong neighbours"))?;
                let merges = is_filed(block.state)
                    && below.is_some_and(|below| self.blocks[below].state == block.state);
                ensure(!merges, || format!("block at {addr} should have been merged with the one below"))?;
                ensure(block.size >= MIN_BLOCK, || format!("block at {addr} is smaller than {MIN_BLOCK}"))?;
            }
            let Segment { addr, size, .. } = *entry;
            ensure(end == addr.offset(size), || format!("the blocks of the segment at {addr} end at {end}"))?;
        }
        ensure(by_segment.is_empty(), || format!("blocks without a segment: {by_segment:?}"))
    }

    /// Every free block is in its pool's set under its own key, unmapped space in its list, others in neither.
    fn check_sets(&self) -> Result<(), String> {
        let mut seen = 0;
        for (index, owner) in self.owners.iter().enumerate() {
            for (small, pool) in [(true, &owner.small), (false, &owner.large)] {
                for (stream, shelf) in pool.shelves() {
                    let free = shelf.free.iter();
                    let free = free.map(|(key, id)| (*id, State::Free, self.free_key(*id) == *key));
                    let unmapped = shelf.unmapped.iter();
                    let unmapped =
                        unmapped.map(|(addr, id)| (*id, State::Unmapped, self.blocks[*id].addr == *addr));
                    for (id, state, key_is_right) in free.chain(unmapped) {
                        let (block, segment) = (&self.blocks[id], self.segment_of(id));
                        let home = (usize::from(segment.owner.0), segment.small, segment.stream);
                        let is_right = key_is_right && block.state == state && home == (index, small, stream);
                        ensure(is_right, || format!("{block:?} is filed wrongly"))?;
                        seen += 1;
                    }
                }
            }
        }
        let expected = self.blocks.iter().filter(|(_, block)| is_filed(block.state)).count();
        ensure(seen == expected, || format!("{seen} blocks are filed, {expected} should be"))
    }

    /// The counters are what the blocks add up to, and ordered as their definitions demand.
    fn check_counters(&self) -> Result<(), String> {
        let mut sums = Counters::default();
        for (_, block) in self.blocks.iter().filter(|(_, block)| block.state != State::Unmapped) {
            sums.reserved += block.size;
            if block.state == State::Allocated {
                sums.allocated += block.size;
            }
            if block.state != State::Free {
                sums.active += block.size;
                sums.requested += block.requested;
            }
        }
        let counters = &self.counters;
        ensure(sums == *counters, || format!("counters say {counters:?}, blocks add up to {sums:?}"))?;
        let Counters { requested, allocated, active, reserved } = sums;
        let is_ordered = requested <= active && allocated <= active && active <= reserved;
        ensure(is_ordered, || format!("{sums:?} are out of order"))?;
        let beyond = self.limit.is_some_and(|limit| reserved > limit);
        ensure(!beyond || self.options.expandable_segments, || {
            format!("{reserved} is held beyond the limit")
        })?;
        let pools = self.owners.iter().flat_map(|owner| [&owner.small, &owner.large]);
        let cached: Bytes = pools.flat_map(Pool::free_blocks).map(|id| self.blocks[id].size).sum();
        ensure(cached == counters.cached(), || format!("{cached} is filed as free"))
    }
}

/// Whether blocks in this state stand in a set of their pool.
fn is_filed(state: State) -> bool {
    matches!(state, State::Free | State::Unmapped)
}

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken()) }
}
