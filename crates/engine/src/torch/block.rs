//! Blocks and segments: the objects the policy moves about.

use std::num::NonZeroU32;

use oomph_trace::{Addr, Bytes};

/// A block of the allocator. Ids are reused after a block is merged away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(NonZeroU32);

impl BlockId {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A segment of the allocator. Ids are reused after a segment went back to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub(crate) u32);

/// A stream by its rank among the handles of the trace, so that ranks order as handles do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamIdx(pub u16);

/// Who owns a pool; 0 is the default owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerIdx(pub u16);

impl OwnerIdx {
    /// The owner of everything that asked for no other pool.
    pub const DEFAULT: OwnerIdx = OwnerIdx(0);
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Cached, in its pool's free set.
    Free,
    /// Serves an allocation.
    Allocated,
    /// Freed by the program; waits for other streams.
    PendingFree,
    /// Address space of an expandable segment with nothing mapped.
    Unmapped,
}

/// Part of a segment; the blocks of a segment tile it.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Where it begins.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// What was asked for; stale unless it is active.
    pub requested: Bytes,
    /// The neighbour below, in the same segment.
    pub prev: Option<BlockId>,
    /// The neighbour above, in the same segment.
    pub next: Option<BlockId>,
    /// The segment it is part of.
    pub segment: SegmentId,
    /// What it is.
    pub state: State,
    /// When this object was made, among all blocks.
    pub(crate) registered: u64,
    /// How often its pool had been searched when it was last inserted there.
    pub(crate) searches_at_insert: u64,
}

impl Block {
    /// A free block without neighbours.
    pub(crate) fn free(addr: Addr, size: Bytes, segment: SegmentId) -> Block {
        Block {
            addr,
            size,
            requested: Bytes::ZERO,
            prev: None,
            next: None,
            segment,
            state: State::Free,
            registered: 0,
            searches_at_insert: 0,
        }
    }

    /// Unmapped address space without neighbours.
    pub(crate) fn unmapped(addr: Addr, size: Bytes, segment: SegmentId) -> Block {
        Block { state: State::Unmapped, ..Block::free(addr, size, segment) }
    }
}

/// How a segment is backed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backing {
    /// One `cudaMalloc`.
    Fixed,
    /// Reserved address space in which pages of this size are mapped on demand.
    Expandable {
        /// The unit of mapping.
        page: Bytes,
    },
}

/// Memory from the driver, or for an expandable segment the address space it may fill.
#[derive(Clone, Copy, Debug)]
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
    /// How it is backed.
    pub backing: Backing,
    /// The bytes of all segments that were made before it: their order.
    pub(crate) made_after: Bytes,
}

impl Segment {
    pub(crate) fn is_expandable(&self) -> bool {
        matches!(self.backing, Backing::Expandable { .. })
    }
}

/// All blocks, by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    unused: Vec<BlockId>,
    made: u64,
}

impl Blocks {
    /// Makes a block; `registered` is filled in here.
    pub(crate) fn add(&mut self, mut block: Block) -> BlockId {
        block.registered = self.made;
        self.made += 1;
        if let Some(id) = self.unused.pop() {
            self.blocks[id.index()] = block;
            return id;
        }
        self.blocks.push(block);
        let id = u32::try_from(self.blocks.len()).ok().and_then(NonZeroU32::new);
        BlockId(id.expect("fewer than 2^32 blocks fit in memory"))
    }

    /// Ends a block's life; its id will be given to another.
    pub(crate) fn remove(&mut self, id: BlockId) {
        // No living block is empty, so this is what tells the dead.
        self[id].size = Bytes::ZERO;
        self.unused.push(id);
    }

    /// Every living block, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        let ids = (1..).filter_map(NonZeroU32::new).map(BlockId);
        ids.zip(&self.blocks).filter(|(_, block)| block.size > Bytes::ZERO)
    }
}

impl std::ops::Index<BlockId> for Blocks {
    type Output = Block;
    fn index(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }
}

impl std::ops::IndexMut<BlockId> for Blocks {
    fn index_mut(&mut self, id: BlockId) -> &mut Block {
        &mut self.blocks[id.index()]
    }
}

/// All segments, by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    /// A segment and its first block; `None` where an id is unused.
    segments: Vec<Option<Segment>>,
    unused: Vec<SegmentId>,
    made: Bytes,
}

impl Segments {
    /// Makes a segment; `made_after` is filled in here.
    pub(crate) fn add(&mut self, mut segment: Segment) -> SegmentId {
        segment.made_after = self.made;
        self.made = Bytes(self.made.0.wrapping_add(segment.size.0));
        if let Some(id) = self.unused.pop() {
            self.segments[id.0 as usize] = Some(segment);
            return id;
        }
        self.segments.push(Some(segment));
        SegmentId(u32::try_from(self.segments.len() - 1).expect("fewer than 2^32 segments fit in memory"))
    }

    /// Ends a segment's life.
    pub(crate) fn remove(&mut self, id: SegmentId) {
        self.segments[id.0 as usize] = None;
        self.unused.push(id);
    }

    /// Every segment, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.segments
            .iter()
            .enumerate()
            .filter_map(|(index, segment)| Some((SegmentId(index as u32), segment.as_ref()?)))
    }
}

impl std::ops::Index<SegmentId> for Segments {
    type Output = Segment;
    fn index(&self, id: SegmentId) -> &Segment {
        self.segments[id.0 as usize].as_ref().expect("a block's segment lives as long as the block")
    }
}
