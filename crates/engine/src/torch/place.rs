//! Splitting a block for a request, and merging it with its neighbours when it is free again.

use oomph_trace::Bytes;

use super::block::{Block, BlockId, State};
use super::rounding::{MIN_BLOCK, SMALL_LIMIT};
use super::{Search, Torch};
use crate::device::Device;

impl<D: Device> Torch<D> {
    /// Serves a request from `found`, which is in no pool; what is left over goes back to the pool.
    pub(super) fn place(&mut self, found: BlockId, search: &Search, requested: Bytes) -> BlockId {
        let block = if self.should_split(found, search) { self.split(found, search.size) } else { found };
        let entry = &mut self.blocks[block];
        entry.state = State::Allocated;
        entry.requested = requested;
        let size = entry.size;
        self.counters.allocated += size;
        self.counters.active += size;
        self.counters.requested += requested;
        self.peaks.raise(&self.counters, self.now);
        block
    }

    /// Small and expandable blocks are cut exactly; large ones keep up to 1 MiB too much.
    fn should_split(&self, block: BlockId, search: &Search) -> bool {
        let rest = self.blocks[block].size - search.size;
        if search.small || self.options.expandable_segments {
            rest >= MIN_BLOCK
        } else {
            self.options.max_split_size.is_none_or(|max| search.size < max) && rest > SMALL_LIMIT
        }
    }

    /// Cuts the first `size` bytes off as another block, which it gives; the rest is inserted into its pool.
    fn split(&mut self, rest: BlockId, size: Bytes) -> BlockId {
        let whole = self.blocks[rest];
        let front = Block::free(whole.addr, size, whole.segment);
        let front = self.insert_between(whole.prev, Some(rest), front);
        let entry = &mut self.blocks[rest];
        entry.addr = whole.addr.offset(size);
        entry.size = whole.size - size;
        self.insert_free(rest);
        front
    }

    /// The program gives an allocation back and no other stream uses it.
    pub fn free(&mut self, block: BlockId) {
        self.counters.allocated -= self.blocks[block].size;
        self.make_free(block);
    }

    /// The program gives an allocation back while another stream may still use it.
    pub fn free_later(&mut self, block: BlockId) {
        let entry = &mut self.blocks[block];
        entry.state = State::PendingFree;
        self.counters.allocated -= entry.size;
        self.pending.push(block);
    }

    /// The other streams are done with a block that was freed; false where a release has completed it already.
    pub fn complete(&mut self, block: BlockId) -> bool {
        let Some(place) = self.pending.iter().position(|id| *id == block) else { return false };
        self.pending.remove(place);
        self.make_free(block);
        true
    }

    /// Completes every pending free, as a synchronisation of the device does.
    pub(super) fn complete_all(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.complete_each(pending);
    }

    /// Completes frees that have been taken out of the pending ones.
    pub(super) fn complete_each(&mut self, blocks: Vec<BlockId>) {
        for block in blocks {
            self.make_free(block);
        }
    }

    fn make_free(&mut self, block: BlockId) {
        let entry = &mut self.blocks[block];
        entry.state = State::Free;
        self.counters.active -= entry.size;
        self.counters.requested -= entry.requested;
        self.merge_neighbours(block);
        self.insert_free(block);
    }

    /// Merges `block`, which is in no set, with the neighbours that are in the same state.
    pub(super) fn merge_neighbours(&mut self, block: BlockId) {
        let Block { prev, next, state, .. } = self.blocks[block];
        if let Some(prev) = prev.filter(|id| self.blocks[*id].state == state) {
            self.remove_from_set(prev);
            let gone = self.blocks[prev];
            let entry = &mut self.blocks[block];
            entry.addr = gone.addr;
            entry.size += gone.size;
            entry.prev = gone.prev;
            if let Some(below) = gone.prev {
                self.blocks[below].next = Some(block);
            }
            self.blocks.remove(prev);
        }
        if let Some(next) = next.filter(|id| self.blocks[*id].state == state) {
            self.remove_from_set(next);
            let gone = self.blocks[next];
            let entry = &mut self.blocks[block];
            entry.size += gone.size;
            entry.next = gone.next;
            if let Some(above) = gone.next {
                self.blocks[above].prev = Some(block);
            }
            self.blocks.remove(next);
        }
    }

    /// Makes `block` and links it between two neighbours.
    #[inline]
    pub(super) fn insert_between(
        &mut self,
        prev: Option<BlockId>,
        next: Option<BlockId>,
        block: Block,
    ) -> BlockId {
        let id = self.blocks.add(Block { prev, next, ..block });
        if let Some(prev) = prev {
            self.blocks[prev].next = Some(id);
        }
        if let Some(next) = next {
            self.blocks[next].prev = Some(id);
        }
        id
    }

    pub(super) fn insert_free(&mut self, id: BlockId) {
        let key = self.free_key(id);
        let segment = self.segments[self.blocks[id].segment];
        let pool = self.owners[usize::from(segment.owner.0)].pool(segment.small);
        self.blocks[id].searches_at_insert = pool.searches;
        pool.shelf(segment.stream).free.insert(key, id);
    }

    /// Takes a free block out of its pool, or unmapped space out of the list of it.
    pub(super) fn remove_from_set(&mut self, id: BlockId) {
        let key = self.free_key(id);
        let block = self.blocks[id];
        let segment = self.segments[block.segment];
        let shelf = self.shelf_of(&segment);
        if block.state == State::Unmapped {
            shelf.unmapped.remove(&block.addr);
        } else {
            shelf.free.remove(&key);
        }
    }
}
