//! The allocator's state as people and snapshots see it.

use oomph_trace::{Addr, Bytes};

use super::block::{Block, BlockId, OwnerIdx, Segment, SegmentId, State, StreamIdx};
use super::{Request, Torch};
use crate::device::Device;

/// A segment as a snapshot shows it: for an expandable one, each mapped run on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentView {
    /// Where it begins.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// The stream it serves.
    pub stream: StreamIdx,
    /// Its owner.
    pub owner: OwnerIdx,
    /// Whether it serves requests of up to 1 MiB.
    pub small: bool,
    /// Whether it is a mapped run of an expandable segment.
    pub expandable: bool,
    /// Its blocks, by address.
    pub blocks: Vec<BlockView>,
}

/// A block as a snapshot shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockView {
    /// The block.
    pub id: BlockId,
    /// Where it begins.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// What was asked for; nothing for a free block.
    pub requested: Bytes,
    /// What it is; never [`State::Unmapped`].
    pub state: State,
}

/// Cached bytes that cannot serve a request, each counted under the first reason that holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stranded {
    /// In the pool of the other size class, or of another owner.
    pub other_pool: Bytes,
    /// In the right pool, for another stream.
    pub other_stream: Bytes,
    /// In blocks smaller than the request.
    pub too_small: Bytes,
    /// In blocks that a setting keeps from being used.
    pub refused: Bytes,
    /// The largest free block of the request's pool and stream.
    pub largest: Bytes,
}

impl Stranded {
    /// All of it.
    pub fn total(&self) -> Bytes {
        self.other_pool + self.other_stream + self.too_small + self.refused
    }
}

impl<D: Device> Torch<D> {
    /// The segments and their blocks, by address.
    pub fn segments(&self) -> Vec<SegmentView> {
        let mut blocks: Vec<(SegmentId, Addr, BlockId)> = self
            .blocks
            .iter()
            .filter(|(_, block)| block.state != State::Unmapped)
            .map(|(id, block)| (block.segment, block.addr, id))
            .collect();
        blocks.sort_unstable();
        let mut views: Vec<(SegmentId, SegmentView)> = Vec::new();
        for (segment, _, id) in blocks {
            let block = &self.blocks[id];
            let shown = BlockView {
                id,
                addr: block.addr,
                size: block.size,
                requested: if block.state == State::Free { Bytes::ZERO } else { block.requested },
                state: block.state,
            };
            match views.last_mut() {
                Some((last, view)) if *last == segment && view.addr.offset(view.size) == block.addr => {
                    view.size += block.size;
                    view.blocks.push(shown);
                }
                _ => {
                    let owner = self.segments[segment];
                    let view = SegmentView {
                        addr: block.addr,
                        size: block.size,
                        stream: owner.stream,
                        owner: owner.owner,
                        small: owner.small,
                        expandable: owner.is_expandable(),
                        blocks: vec![shown],
                    };
                    views.push((segment, view));
                }
            }
        }
        let mut views: Vec<SegmentView> = views.into_iter().map(|(_, view)| view).collect();
        views.sort_by_key(|view| view.addr);
        views
    }

    /// Why the cache does not serve `request`, byte by byte.
    pub fn stranded(&self, request: Request) -> Stranded {
        let search = self.search(request);
        let mut stranded = Stranded::default();
        for (_, block, segment) in self.cached_blocks() {
            let place = if (segment.owner, segment.small) != (search.owner, search.small) {
                &mut stranded.other_pool
            } else if segment.stream != search.stream {
                &mut stranded.other_stream
            } else {
                stranded.largest = stranded.largest.max(block.size);
                if block.size < search.size { &mut stranded.too_small } else { &mut stranded.refused }
            };
            *place += block.size;
        }
        stranded
    }

    /// Whether the cache could serve `request` by its rules; then nothing is stranded for it.
    pub fn could_serve(&self, request: Request) -> bool {
        let search = self.search(request);
        self.cached_blocks().any(|(_, block, segment)| {
            (segment.owner, segment.small, segment.stream) == (search.owner, search.small, search.stream)
                && block.size >= search.size
                && !self.options.refuses(search.size, block.size)
        })
    }

    /// The cached bytes in the segments that `counts` chooses.
    pub fn cached(&self, counts: impl Fn(&Segment) -> bool) -> Bytes {
        let chosen = self.cached_blocks().filter(|(_, _, segment)| counts(segment));
        chosen.map(|(_, block, _)| block.size).sum()
    }

    /// Whether this owner's cache can go back to the driver: the default one's can, a private one's once nobody uses
    /// it any more.
    pub fn may_release(&self, owner: OwnerIdx) -> bool {
        owner == OwnerIdx::DEFAULT || self.abandoned.contains(&owner)
    }

    /// Cached bytes that could go back to the driver now.
    pub fn releasable(&self) -> Bytes {
        let ours = self.cached_blocks().filter(|(_, _, segment)| self.may_release(segment.owner));
        ours.map(|(id, block, segment)| match (segment.is_expandable(), self.is_whole(id)) {
            (true, _) => self.whole_pages(block).map_or(Bytes::ZERO, |(_, size)| size),
            (false, true) => block.size,
            (false, false) => Bytes::ZERO,
        })
        .sum()
    }

    fn cached_blocks(&self) -> impl Iterator<Item = (BlockId, &Block, &Segment)> {
        let free = self.blocks.iter().filter(|(_, block)| block.state == State::Free);
        free.map(|(id, block)| (id, block, &self.segments[block.segment]))
    }
}
