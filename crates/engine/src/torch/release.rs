//! Giving memory back to the driver: on request, under pressure, and as garbage collection.

use std::ops::Bound;

use oomph_trace::Bytes;

use super::block::{BlockId, OwnerIdx, Segment};
use super::pool::FreeKey;
use super::{Search, Torch};
use crate::device::Device;

impl<D: Device> Torch<D> {
    /// `torch.cuda.empty_cache()`, which a request under pressure does as well: completes pending frees, then returns
    /// what is wholly free, of the default pools and then of abandoned private ones.
    pub fn empty_cache(&mut self) {
        self.complete_all();
        self.release_pool(OwnerIdx::DEFAULT, false);
        self.release_pool(OwnerIdx::DEFAULT, true);
        for owner in self.abandoned.clone() {
            self.release_pool(owner, true);
            self.release_pool(owner, false);
        }
    }

    /// What the end of a `MemPool` does: its own pending frees complete, and its own cache is released.
    pub fn empty_pool(&mut self, owner: OwnerIdx) {
        let pending = std::mem::take(&mut self.pending);
        let (own, others) = pending.into_iter().partition(|id| self.segment_of(*id).owner == owner);
        self.pending = others;
        self.complete_each(own);
        self.release_pool(owner, true);
        self.release_pool(owner, false);
    }

    fn release_pool(&mut self, owner: OwnerIdx, small: bool) {
        let cached: Vec<BlockId> = self.owners[usize::from(owner.0)].pool(small).free_blocks().collect();
        let (expandable, fixed): (Vec<BlockId>, Vec<BlockId>) =
            cached.into_iter().partition(|id| self.segment_of(*id).is_expandable());
        for block in fixed {
            if self.is_whole(block) {
                self.release_segment(block);
            }
        }
        for block in expandable {
            self.unmap(block);
            self.unreserve_if_empty(block);
        }
    }

    /// Before the whole cache is dropped, `max_split_size_mb` allows to give up just enough oversized blocks of the
    /// request's stream. Tells whether there was enough.
    pub(super) fn release_oversized(&mut self, search: &Search) -> bool {
        let Some(max_split) = self.options.max_split_size else { return false };
        let key = search.size.max(max_split);
        let shelf = self.owners[usize::from(search.owner.0)].pool(search.small).shelf(search.stream);
        let first = shelf.free.range(FreeKey::at_least(key)..).next().map(|(_, id)| *id);
        let below = (Bound::Unbounded, Bound::Excluded(FreeKey::at_least(key)));
        let oversized: Vec<BlockId> = shelf
            .free
            .range(below)
            .rev()
            .take_while(|(found, _)| found.size >= max_split)
            .map(|(_, id)| *id)
            .collect();
        if let Some(block) = first.filter(|id| self.is_releasable(*id)) {
            self.release_segment(block);
            return true;
        }
        // No single block is large enough: release oversized ones, largest first, until they add up.
        let mut released = Bytes::ZERO;
        for block in oversized {
            if released >= key {
                break;
            }
            if self.is_releasable(block) {
                released += self.blocks[block].size;
                self.release_segment(block);
            }
        }
        released >= key
    }

    /// Whether cached segments are collected before the driver is asked: it takes a threshold and a limit.
    pub(super) fn collects_garbage(&self) -> bool {
        self.options.garbage_collection_threshold > 0.0 && self.limit.is_some()
    }

    /// Releases wholly free large segments, those of at least average age first, until enough is released.
    pub(super) fn collect_garbage(&mut self) {
        let limit = self.limit.unwrap_or_default();
        let threshold = Bytes((self.options.garbage_collection_threshold * limit.0 as f64) as u64);
        if self.counters.reserved <= threshold {
            return;
        }
        let target = self.counters.reserved - threshold;
        let age =
            |torch: &Self, id: BlockId| torch.owners[0].large.searches - torch.blocks[id].searches_at_insert;
        let mut whole: Vec<BlockId> =
            self.owners[0].large.free_blocks().filter(|id| self.is_whole(*id)).collect();
        let mut total_age: u64 = whole.iter().map(|id| age(self, *id)).sum();
        let mut reclaimed = Bytes::ZERO;
        while reclaimed < target && !whole.is_empty() {
            let average = total_age as f64 / whole.len() as f64;
            let (old, young): (Vec<BlockId>, Vec<BlockId>) = whole
                .into_iter()
                .partition(|id| age(self, *id) as f64 >= average && !self.segment_of(*id).is_expandable());
            whole = young;
            if old.is_empty() {
                return;
            }
            for block in old {
                total_age -= age(self, block);
                reclaimed += self.blocks[block].size;
                self.release_segment(block);
            }
        }
    }

    /// `cudaFree` of the segment that a free block fills.
    fn release_segment(&mut self, block: BlockId) {
        self.remove_from_set(block);
        let entry = self.blocks[block];
        self.device.free(entry.addr, entry.size);
        self.tally.driver_shrinks += 1;
        self.counters.reserved -= entry.size;
        self.blocks.remove(block);
        self.segments.remove(entry.segment);
    }

    /// Whether a free block can be given to `cudaFree`. Oversized blocks are never split, but one from before the
    /// option was set may have been.
    fn is_releasable(&self, block: BlockId) -> bool {
        !self.segment_of(block).is_expandable() && self.is_whole(block)
    }

    pub(super) fn is_whole(&self, block: BlockId) -> bool {
        let entry = &self.blocks[block];
        entry.prev.is_none() && entry.next.is_none()
    }

    pub(super) fn segment_of(&self, block: BlockId) -> &Segment {
        &self.segments[self.blocks[block].segment]
    }
}
