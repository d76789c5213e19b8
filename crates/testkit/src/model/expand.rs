//! The naive allocator's expandable segments.

use oomph_engine::device::Device;
use oomph_engine::torch::block::State;
use oomph_engine::torch::options::Reserve;
use oomph_trace::{Addr, Bytes};

use super::{Handle, Naive, NaiveBlock, Search};

impl<D: Device> Naive<D> {
    /// Maps pages until a block is large enough. If that fails, what is mapped stays.
    pub(super) fn grow_expandable(&mut self, search: Search) -> Option<Handle> {
        let mut block = self.find_expandable(search)?;
        if block.state == State::Unmapped {
            block = self.map(block, block.size.min(search.size))?;
        }
        while block.size < search.size {
            let above = self.above(&block).expect("the space was found to suffice");
            block = self.map(above, above.size.min(search.size - block.size))?;
        }
        Some(block.handle)
    }

    /// The lowest unmapped block of the stream that is large enough together with the free block below it and all that
    /// follows.
    fn find_expandable(&mut self, search: Search) -> Option<NaiveBlock> {
        let usable = |block: &NaiveBlock| matches!(block.state, State::Free | State::Unmapped);
        let mut unmapped: Vec<NaiveBlock> = self
            .blocks
            .iter()
            .filter(|block| block.state == State::Unmapped)
            .filter(|b| (b.owner, b.small, b.stream) == (search.owner, search.small, search.stream))
            .copied()
            .collect();
        unmapped.sort_by_key(|block| block.addr);
        for candidate in unmapped {
            let start = self.below(&candidate).filter(usable).unwrap_or(candidate);
            let mut room = Bytes::ZERO;
            let mut next = Some(start);
            while let Some(block) = next.filter(|block| usable(block)) {
                room += block.size;
                next = self.above(&block);
            }
            if room >= search.size {
                return Some(start);
            }
        }
        let page = self.page_of(search.small);
        let total = self.device.total().0;
        let full = total + total / 8;
        let reserve = match self.options.expandable_segments_reserve {
            Some(Reserve::Fraction(share)) => full.min((share * total as f64) as u64),
            Some(Reserve::Size(size)) => full.min(size.0),
            None => full,
        };
        let reserve = Bytes(reserve.div_ceil(page.0) * page.0);
        if reserve < search.size {
            return None;
        }
        let addr = self.device.reserve(reserve)?;
        let handle = self.new_segment(addr, reserve, search, true);
        Some(*self.get(handle))
    }

    fn page_of(&self, small: bool) -> Bytes {
        if small { Bytes::mib(2) } else { self.options.large_segment_size }
    }

    fn map(&mut self, block: NaiveBlock, size: Bytes) -> Option<NaiveBlock> {
        let page = self.page_of(block.small);
        let size = Bytes(size.0.div_ceil(page.0) * page.0);
        if !self.device.map(block.addr, size) {
            return None;
        }
        self.tally.driver_grows += 1;
        if size < block.size {
            self.add(NaiveBlock { addr: block.addr.offset(size), size: block.size - size, ..block });
        }
        let mapped = self.get_mut(block.handle);
        mapped.size = size;
        mapped.state = State::Free;
        self.merge(block.handle);
        self.insert(block.handle);
        Some(*self.get(block.handle))
    }

    /// Unmaps the whole pages inside a free block.
    pub(super) fn unmap(&mut self, handle: Handle) {
        let block = *self.get(handle);
        let page = self.page_of(block.small).0;
        let begin = (block.addr.0 - block.base.0).div_ceil(page) * page;
        let end = (block.addr.0 + block.size.0 - block.base.0) / page * page;
        if begin >= end {
            return;
        }
        let (begin, end) = (block.base.0 + begin, block.base.0 + end);
        self.device.unmap(Addr(begin), Bytes(end - begin));
        self.tally.driver_shrinks += 1;
        if begin > block.addr.0 {
            let before = self.add(NaiveBlock { size: Bytes(begin - block.addr.0), ..block });
            self.insert(before);
        }
        let last = block.addr.0 + block.size.0;
        if last > end {
            let after = self.add(NaiveBlock { addr: Addr(end), size: Bytes(last - end), ..block });
            self.insert(after);
        }
        let unmapped = self.get_mut(handle);
        unmapped.addr = Addr(begin);
        unmapped.size = Bytes(end - begin);
        unmapped.state = State::Unmapped;
        self.merge(handle);
        let left = *self.get(handle);
        if self.below(&left).is_none() && self.above(&left).is_none() {
            self.device.unreserve(left.addr, left.size);
            self.remove(handle);
        }
    }
}
