//! One moment: every segment and every block in it, and the holes.

use oomph_engine::program::AllocId;
use oomph_engine::torch::block::{OwnerIdx, StreamIdx};
use oomph_trace::{Addr, Bytes};

use crate::lives::{Extent, Lives};

/// A part of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// The allocation; `None`: a hole.
    pub id: Option<AllocId>,
}

/// A segment, or pages of one that lie side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// The stream it serves.
    pub stream: StreamIdx,
    /// The owner of its pool.
    pub owner: OwnerIdx,
    /// Whether it serves requests of up to 1 MiB.
    pub small: bool,
    /// Whether it is pages of an expandable segment.
    pub pages: bool,
    /// Blocks and holes, by address; they tile it.
    pub pieces: Vec<Piece>,
}

/// Everything that is held in one slot, by address.
pub fn at(lives: &Lives, slot: u32) -> Vec<Segment> {
    let mut extents: Vec<&Extent> =
        lives.extents.iter().filter(|extent| extent.from <= slot && slot < extent.to).collect();
    extents.sort_by_key(|extent| extent.addr);
    let numbered = (0..).map(AllocId).zip(&lives.of);
    let mut blocks: Vec<(Addr, Bytes, AllocId)> =
        numbered.filter(|(_, life)| life.holds(slot)).map(|(id, life)| (life.addr, life.size, id)).collect();
    blocks.sort_unstable_by_key(|block| block.0);
    let mut segments: Vec<Segment> = Vec::new();
    for extent in extents {
        let Extent { addr, size, stream, owner, small, pages, .. } = *extent;
        match segments.last_mut() {
            Some(last)
                if pages
                    && last.pages
                    && last.addr.offset(last.size) == addr
                    && (last.stream, last.owner) == (stream, owner) =>
            {
                last.size += size;
            }
            _ => segments.push(Segment { addr, size, stream, owner, small, pages, pieces: Vec::new() }),
        }
    }
    let mut blocks = blocks.into_iter().peekable();
    for segment in &mut segments {
        let end = segment.addr.offset(segment.size);
        let mut at = segment.addr;
        while let Some((addr, size, id)) = blocks.next_if(|block| block.0 < end) {
            if let Some(gap) = addr.distance_from(at).filter(|gap| *gap > Bytes::ZERO) {
                segment.pieces.push(Piece { addr: at, size: gap, id: None });
            }
            segment.pieces.push(Piece { addr, size, id: Some(id) });
            at = addr.offset(size);
        }
        if let Some(gap) = end.distance_from(at).filter(|gap| *gap > Bytes::ZERO) {
            segment.pieces.push(Piece { addr: at, size: gap, id: None });
        }
    }
    segments
}
