//! How the naive allocator gives memory back.

use oomph_engine::device::Device;
use oomph_engine::torch::block::State;
use oomph_trace::Bytes;

use super::{Handle, Naive, NaiveBlock, Search};

impl<D: Device> Naive<D> {
    /// `empty_cache()`, and the last resort of a request.
    pub fn empty_cache(&mut self) {
        for handle in std::mem::take(&mut self.pending) {
            self.free(handle);
        }
        self.release_pool(0, false);
        self.release_pool(0, true);
        for owner in self.abandoned.clone() {
            self.release_pool(owner, true);
            self.release_pool(owner, false);
        }
    }

    /// The end of a `MemPool`: its own frees complete, and its own cache is released.
    pub fn empty_pool(&mut self, owner: u16) {
        for handle in self.pending.clone() {
            if self.get(handle).owner == owner {
                self.complete(handle);
            }
        }
        self.release_pool(owner, true);
        self.release_pool(owner, false);
    }

    fn release_pool(&mut self, owner: u16, small: bool) {
        let mut free: Vec<NaiveBlock> = self
            .blocks
            .iter()
            .filter(|block| block.state == State::Free && (block.owner, block.small) == (owner, small))
            .copied()
            .collect();
        free.sort_by_key(|block| self.order(block));
        for block in free.iter().filter(|block| !block.expandable) {
            if self.is_whole(block) {
                self.release(block.handle);
            }
        }
        for block in free.iter().filter(|block| block.expandable) {
            self.unmap(block.handle);
        }
    }

    /// With `max_split_size_mb`: one oversized block that is enough, else several, largest first.
    pub(super) fn release_available(&mut self, search: Search) -> bool {
        let Some(max) = self.options.max_split_size else { return false };
        let key = search.size.max(max);
        let set = self.set(search);
        let split = set.iter().position(|block| block.size >= key).unwrap_or(set.len());
        if let Some(block) = set.get(split).filter(|block| !block.expandable) {
            self.release(block.handle);
            return true;
        }
        let mut released = Bytes::ZERO;
        for block in set[..split].iter().rev() {
            if released >= key || block.size < max {
                break;
            }
            if !block.expandable {
                released += block.size;
                self.release(block.handle);
            }
        }
        released >= key
    }

    pub(super) fn collects(&self) -> bool {
        self.limit.is_some() && self.options.garbage_collection_threshold > 0.0
    }

    /// Frees whole large segments of at least average age, pass by pass, until enough is freed.
    pub(super) fn garbage_collect(&mut self) {
        let limit = self.limit.unwrap_or_default().0 as f64;
        let threshold = Bytes((self.options.garbage_collection_threshold * limit) as u64);
        let held = self.counters().reserved;
        if held <= threshold {
            return;
        }
        let target = held - threshold;
        let mut reclaimed = Bytes::ZERO;
        while reclaimed < target {
            let whole: Vec<NaiveBlock> = self
                .blocks
                .iter()
                .filter(|block| block.state == State::Free && block.owner == 0 && !block.small)
                .filter(|block| self.is_whole(block))
                .copied()
                .collect();
            let searches = self.owners[0].searches[0];
            let age = |block: &NaiveBlock| searches - block.free_since;
            let average = whole.iter().map(age).sum::<u64>() as f64 / whole.len() as f64;
            let mut old: Vec<NaiveBlock> =
                whole.into_iter().filter(|block| !block.expandable && age(block) as f64 >= average).collect();
            if old.is_empty() {
                return;
            }
            old.sort_by_key(|block| self.order(block));
            for block in old {
                reclaimed += block.size;
                self.release(block.handle);
            }
        }
    }

    fn release(&mut self, handle: Handle) {
        let block = *self.get(handle);
        self.device.free(block.addr, block.size);
        self.tally.driver_shrinks += 1;
        self.remove(handle);
    }

    fn is_whole(&self, block: &NaiveBlock) -> bool {
        self.below(block).is_none() && self.above(block).is_none()
    }
}
