//! The allocator's state as people and snapshots see it.

use oomph_trace::{Addr, Bytes};

use super::block::{Block, BlockId, OwnerIdx, SegmentId, State, StreamIdx};
use super::{Request, Torch, refuses, rounding};
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
        let size = rounding::block_size(request.size, &self.options.roundup_power2_divisions, &self.profile);
        let small = size <= rounding::SMALL_LIMIT;
        let mut stranded = Stranded::default();
        for (_, block) in self.blocks.iter().filter(|(_, block)| block.state == State::Free) {
            let segment = &self.segments[block.segment];
            let place = if (segment.owner, segment.small) != (request.owner, small) {
                &mut stranded.other_pool
            } else if segment.stream != request.stream {
                &mut stranded.other_stream
            } else {
                stranded.largest = stranded.largest.max(block.size);
                if block.size < size { &mut stranded.too_small } else { &mut stranded.refused }
            };
            *place += block.size;
        }
        stranded
    }

    /// Whether the cache could serve `request` by its rules; then nothing is stranded for it.
    pub fn could_serve(&self, request: Request) -> bool {
        let size = rounding::block_size(request.size, &self.options.roundup_power2_divisions, &self.profile);
        let small = size <= rounding::SMALL_LIMIT;
        self.blocks.iter().any(|(_, block)| {
            let segment = &self.segments[block.segment];
            block.state == State::Free
                && (segment.owner, segment.small, segment.stream) == (request.owner, small, request.stream)
                && block.size >= size
                && !self
                    .options
                    .max_split_size
                    .is_some_and(|max| refuses(size, block.size, max, &self.options))
        })
    }

    /// Cached bytes that could go back to the driver now.
    pub fn releasable(&self) -> Bytes {
        let whole_pages = |block: &Block| {
            let segment = &self.segments[block.segment];
            let page = self.page(segment.small);
            let offset = |addr: Addr| addr.distance_from(segment.addr).unwrap_or_default();
            let begin = offset(block.addr).round_up(page);
            let end = Bytes(offset(block.addr.offset(block.size)).0 / page.0 * page.0);
            end.saturating_sub(begin)
        };
        self.blocks
            .iter()
            .filter(|(_, block)| block.state == State::Free)
            .filter(|(_, block)| {
                let owner = self.segments[block.segment].owner;
                owner == OwnerIdx::DEFAULT || self.abandoned.contains(&owner)
            })
            .map(|(id, block)| match (self.segment_of(id).is_expandable(), self.is_whole(id)) {
                (true, _) => whole_pages(block),
                (false, true) => block.size,
                (false, false) => Bytes::ZERO,
            })
            .sum()
    }
}
