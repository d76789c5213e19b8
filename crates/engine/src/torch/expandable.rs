//! Expandable segments: address space reserved once, pages mapped into it as they are needed.

use oomph_trace::{Addr, Bytes};

use super::block::{Backing, Block, BlockId, State};
use super::options::Reserve;
use super::rounding::SMALL_SEGMENT;
use super::{Search, Torch};
use crate::device::Device;

impl<D: Device> Torch<D> {
    /// A free block of at least the searched size, made by mapping pages; it is in no pool.
    ///
    /// Pages mapped before a later mapping fails stay mapped and cached.
    pub(super) fn grow_expandable(&mut self, search: &Search) -> Option<BlockId> {
        let mut candidate = self.find_address_space(search)?;
        if self.blocks[candidate].state == State::Unmapped {
            let part = self.blocks[candidate].size.min(search.size);
            candidate = self.map(candidate, part)?;
        }
        while self.blocks[candidate].size < search.size {
            let missing = search.size - self.blocks[candidate].size;
            let above = self.blocks[candidate].next.expect("the address space was found to suffice");
            let part = self.blocks[above].size.min(missing);
            candidate = self.map(above, part)?;
        }
        self.remove_from_set(candidate);
        Some(candidate)
    }

    /// The lowest run of free and unmapped blocks that is long enough, or a newly reserved segment.
    fn find_address_space(&mut self, search: &Search) -> Option<BlockId> {
        let shelf = self.owners[usize::from(search.owner.0)].pool(search.small).shelf(search.stream);
        let blocks = &self.blocks;
        let is_available = |id: BlockId| matches!(blocks[id].state, State::Free | State::Unmapped);
        for unmapped in shelf.unmapped.values() {
            let start = blocks[*unmapped].prev.filter(|prev| is_available(*prev)).unwrap_or(*unmapped);
            let mut room = Bytes::ZERO;
            let mut next = Some(start);
            while let Some(id) = next.filter(|id| room < search.size && is_available(*id)) {
                room += blocks[id].size;
                next = blocks[id].next;
            }
            if room >= search.size {
                return Some(start);
            }
        }
        self.reserve_segment(search)
    }

    fn reserve_segment(&mut self, search: &Search) -> Option<BlockId> {
        let page = self.page(search.small);
        let size = self.address_space(page);
        if size < search.size {
            return None;
        }
        let addr = self.device.reserve(size)?;
        let segment = self.segments.add(search.segment_at(addr, size, Backing::Expandable { page }));
        let block = self.blocks.add(Block::unmapped(addr, size, segment));
        self.insert_unmapped(block);
        Some(block)
    }

    pub(super) fn page(&self, small: bool) -> Bytes {
        if small { SMALL_SEGMENT } else { self.options.large_segment_size }
    }

    /// One and an eighth of the device, so that pages unmapped low can come back high; an option may shrink it.
    pub(super) fn address_space(&self, page: Bytes) -> Bytes {
        let total = self.device.total();
        let full = Bytes(total.0 + total.0 / 8);
        let wanted = match self.options.expandable_segments_reserve {
            None => full,
            Some(Reserve::Fraction(share)) => Bytes((share * total.0 as f64) as u64).min(full),
            Some(Reserve::Size(size)) => size.min(full),
        };
        wanted.round_up(page)
    }

    /// Maps the first `size` bytes of unmapped space, in whole pages; gives the free block they are part of.
    fn map(&mut self, block: BlockId, size: Bytes) -> Option<BlockId> {
        let unmapped = self.blocks[block];
        let segment = self.segments[unmapped.segment];
        let size = size.round_up(self.page(segment.small)).min(unmapped.size);
        if !self.device.map(unmapped.addr, size) {
            return None;
        }
        self.tally.driver_grows += 1;
        self.remove_from_set(block);
        let entry = &mut self.blocks[block];
        entry.state = State::Free;
        if size < unmapped.size {
            entry.size = size;
            let rest = unmapped.addr.offset(size);
            let rest = Block::unmapped(rest, unmapped.size - size, unmapped.segment);
            let rest = self.insert_between(Some(block), unmapped.next, rest);
            self.insert_unmapped(rest);
        }
        self.merge_neighbours(block);
        self.insert_free(block);
        self.raise_reserved(size);
        Some(block)
    }

    /// Unmaps the whole pages inside a free block; what shares a page with others stays free.
    pub(super) fn unmap(&mut self, block: BlockId) {
        let whole = self.blocks[block];
        let Some((addr, size)) = self.whole_pages(&whole) else { return };
        self.remove_from_set(block);
        self.device.unmap(addr, size);
        self.tally.driver_shrinks += 1;
        let before = Bytes(addr.0 - whole.addr.0);
        if before > Bytes::ZERO {
            let id =
                self.insert_between(whole.prev, Some(block), Block::free(whole.addr, before, whole.segment));
            self.insert_free(id);
        }
        let after = whole.size - before - size;
        if after > Bytes::ZERO {
            let rest = Block::free(addr.offset(size), after, whole.segment);
            let id = self.insert_between(Some(block), whole.next, rest);
            self.insert_free(id);
        }
        let entry = &mut self.blocks[block];
        entry.addr = addr;
        entry.size = size;
        entry.state = State::Unmapped;
        self.merge_neighbours(block);
        self.insert_unmapped(block);
        self.counters.reserved -= size;
    }

    /// The whole pages inside a block of an expandable segment, if there are any.
    pub(super) fn whole_pages(&self, block: &Block) -> Option<(Addr, Bytes)> {
        let segment = &self.segments[block.segment];
        let page = self.page(segment.small);
        let inside = |addr: Addr| addr.distance_from(segment.addr).unwrap_or_default();
        let begin = inside(block.addr).round_up(page);
        let end = Bytes(inside(block.addr.offset(block.size)).0 / page.0 * page.0);
        (end > begin).then(|| (segment.addr.offset(begin), end - begin))
    }

    /// Gives back the address space of a segment in which nothing is mapped any more.
    pub(super) fn unreserve_if_empty(&mut self, block: BlockId) {
        let entry = self.blocks[block];
        if entry.state == State::Unmapped && self.is_whole(block) {
            self.remove_from_set(block);
            self.device.unreserve(entry.addr, entry.size);
            self.blocks.remove(block);
            self.segments.remove(entry.segment);
        }
    }

    pub(super) fn insert_unmapped(&mut self, id: BlockId) {
        let block = self.blocks[id];
        let segment = self.segments[block.segment];
        self.shelf_of(&segment).unmapped.insert(block.addr, id);
    }
}
