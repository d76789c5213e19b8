//! How the naive allocator searches its cache.

use oomph_engine::device::Device;
use oomph_engine::torch::block::State;
use oomph_engine::torch::profile::TieBreak;
use oomph_trace::{Addr, Bytes};

use super::{Handle, Naive, NaiveBlock, Search};

impl<D: Device> Naive<D> {
    /// The free blocks of one pool and stream in the order of PyTorch's set.
    pub(super) fn set(&self, search: Search) -> Vec<NaiveBlock> {
        let in_set = |block: &&NaiveBlock| {
            block.state == State::Free
                && (block.owner, block.small, block.stream) == (search.owner, search.small, search.stream)
        };
        let mut set: Vec<NaiveBlock> = self.blocks.iter().filter(in_set).copied().collect();
        set.sort_by_key(|block| self.order(block));
        set
    }

    pub(super) fn order(&self, block: &NaiveBlock) -> (u16, Bytes, u64, Addr) {
        let tie = match self.profile.tie_break {
            TieBreak::Address => 0,
            TieBreak::BlockCounter => block.handle.0,
            TieBreak::SegmentCounter => block.segment,
        };
        (block.stream, block.size, tie, block.addr)
    }

    pub(super) fn get_free_block(&mut self, search: Search) -> Option<Handle> {
        if self.collects() {
            self.owners[usize::from(search.owner)].searches[usize::from(search.small)] += 1;
        }
        let fitting: Vec<NaiveBlock> =
            self.set(search).into_iter().filter(|b| b.size >= search.size).collect();
        let mut at = 0;
        if fitting.first()?.expandable {
            if self.options.expandable_segments {
                let reach = |block: &NaiveBlock| {
                    let above = self.above(block).filter(|above| above.state == State::Unmapped);
                    block.size.0 + above.map_or(0, |above| above.size.0)
                };
                while fitting[at].expandable
                    && at + 1 < fitting.len()
                    && reach(&fitting[at + 1]) < reach(&fitting[at])
                {
                    at += 1;
                }
            } else {
                at = fitting.iter().position(|block| !block.expandable)?;
            }
        }
        let found = fitting[at];
        if let Some(max) = self.options.max_split_size {
            if search.size < max && found.size >= max {
                return None;
            }
            let rounding = self.options.max_non_split_rounding.unwrap_or(self.options.large_segment_size);
            if search.size >= max && found.size >= search.size + rounding {
                return None;
            }
        }
        Some(found.handle)
    }
}
