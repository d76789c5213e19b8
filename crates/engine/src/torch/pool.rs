//! A pool's free blocks, ordered as PyTorch orders them.

use std::collections::BTreeMap;

use oomph_trace::{Addr, Bytes};

use super::block::{BlockId, StreamIdx};

/// The order of free blocks within one stream: by size, then by the version's tie-break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FreeKey {
    pub(crate) size: Bytes,
    pub(crate) tie: u64,
}

impl FreeKey {
    /// Before every block of `size`.
    pub(crate) fn at_least(size: Bytes) -> FreeKey {
        FreeKey { size, tie: 0 }
    }
}

/// The free blocks and the unmapped address space of one stream in one pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    pub(crate) free: BTreeMap<FreeKey, BlockId>,
    pub(crate) unmapped: BTreeMap<Addr, BlockId>,
}

/// One of an owner's two pools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    /// By rank of the stream.
    shelves: Vec<Shelf>,
    /// How often it was searched while garbage collection was on.
    pub(crate) searches: u64,
}

impl Pool {
    pub(crate) fn shelf(&mut self, stream: StreamIdx) -> &mut Shelf {
        let index = usize::from(stream.0);
        if self.shelves.len() <= index {
            self.shelves.resize_with(index + 1, Shelf::default);
        }
        &mut self.shelves[index]
    }

    /// Every free block in the order of PyTorch's set: by stream, then as [`FreeKey`] says.
    pub(crate) fn free_blocks(&self) -> impl Iterator<Item = BlockId> {
        self.shelves.iter().flat_map(|shelf| shelf.free.values().copied())
    }

    /// The streams' shelves, by rank.
    pub(crate) fn shelves(&self) -> impl Iterator<Item = (StreamIdx, &Shelf)> {
        self.shelves.iter().enumerate().map(|(rank, shelf)| (StreamIdx(rank as u16), shelf))
    }
}

/// Both pools of one owner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owner {
    pub(crate) small: Pool,
    pub(crate) large: Pool,
    /// Requests to it come from a graph capture, during which nothing may be released.
    pub(crate) capturing: bool,
}

impl Owner {
    pub(crate) fn pool(&mut self, small: bool) -> &mut Pool {
        if small { &mut self.small } else { &mut self.large }
    }
}
