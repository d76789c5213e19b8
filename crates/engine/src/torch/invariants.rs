//! What must hold after every call; tests check it after every step.

use std::collections::BTreeMap;

use oomph_trace::Bytes;

use super::Torch;
use super::block::{BlockId, State};
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
                if block.addr != end {
                    return Err(format!("block at {} follows a gap or overlap at {end}", block.addr));
                }
                end = block.addr.offset(block.size);
                let below = place.checked_sub(1).map(|below| ids[below]);
                if block.prev != below || block.next != ids.get(place + 1).copied() {
                    return Err(format!("block at {} is linked to the wrong neighbours", block.addr));
                }
                let merges = matches!(block.state, State::Free | State::Unmapped);
                if merges && below.is_some_and(|below| self.blocks[below].state == block.state) {
                    return Err(format!(
                        "block at {} should have been merged with the one below",
                        block.addr
                    ));
                }
                if block.size < MIN_BLOCK {
                    return Err(format!("block at {} is smaller than {MIN_BLOCK}", block.addr));
                }
            }
            if end != entry.addr.offset(entry.size) {
                return Err(format!("the blocks of the segment at {} end at {end}", entry.addr));
            }
        }
        by_segment.is_empty().then_some(()).ok_or_else(|| format!("blocks without a segment: {by_segment:?}"))
    }

    /// Every free block is in its pool's set under its own key, unmapped space in its list, others in neither.
    fn check_sets(&self) -> Result<(), String> {
        let mut seen = 0;
        for (index, owner) in self.owners.iter().enumerate() {
            for (small, pool) in [(true, &owner.small), (false, &owner.large)] {
                for (stream, shelf) in pool.shelves() {
                    let free =
                        shelf.free.iter().map(|(key, id)| (*id, State::Free, self.free_key(*id) == *key));
                    let unmapped = shelf
                        .unmapped
                        .iter()
                        .map(|(addr, id)| (*id, State::Unmapped, self.blocks[*id].addr == *addr));
                    for (id, state, key_is_right) in free.chain(unmapped) {
                        let (block, segment) = (&self.blocks[id], self.segment_of(id));
                        let home = (usize::from(segment.owner.0), segment.small, segment.stream);
                        if !key_is_right || block.state != state || home != (index, small, stream) {
                            return Err(format!("{block:?} is filed wrongly"));
                        }
                        seen += 1;
                    }
                }
            }
        }
        let filed = |state| matches!(state, State::Free | State::Unmapped);
        let expected = self.blocks.iter().filter(|(_, block)| filed(block.state)).count();
        (seen == expected)
            .then_some(())
            .ok_or_else(|| format!("{seen} blocks are filed, {expected} should be"))
    }

    /// The counters are what the blocks add up to, and ordered as their definitions demand.
    fn check_counters(&self) -> Result<(), String> {
        let mut sums = Counters::default();
        for (_, block) in self.blocks.iter() {
            match block.state {
                State::Unmapped => continue,
                State::Free => {}
                State::Allocated => sums.allocated += block.size,
                State::PendingFree => {}
            }
            sums.reserved += block.size;
            if matches!(block.state, State::Allocated | State::PendingFree) {
                sums.active += block.size;
                sums.requested += block.requested;
            }
        }
        if sums != self.counters {
            return Err(format!("counters say {:?}, blocks add up to {sums:?}", self.counters));
        }
        let Counters { requested, allocated, active, reserved } = sums;
        if requested > active || allocated > active || active > reserved {
            return Err(format!("{sums:?} are out of order"));
        }
        if self.limit.is_some_and(|limit| reserved > limit && !self.options.expandable_segments) {
            return Err(format!("{reserved} is held beyond the limit"));
        }
        let cached = self.cached_in_sets();
        (cached == self.counters.cached()).then_some(()).ok_or_else(|| format!("{cached} is filed as free"))
    }

    fn cached_in_sets(&self) -> Bytes {
        let pools = self.owners.iter().flat_map(|owner| [&owner.small, &owner.large]);
        pools.flat_map(Pool::free_blocks).map(|id| self.blocks[id].size).sum()
    }
}
