//! PyTorch's CUDA caching allocator as a state machine over a [`Device`].
//!
//! In reading order: the versions, rounding, the options and the variables that set them, blocks, pools; then the policy
//! itself: [`Torch::malloc`] here, splitting and merging, expandable segments, release under pressure; last a start with
//! memory held already, the views onto the state, and what must always hold of it.

pub mod profile;

pub mod rounding;

pub mod options;

pub mod variables;

pub mod block;

mod pool;

mod place;

mod expandable;

mod release;

mod seed;

mod view;

mod invariants;

use oomph_trace::{Addr, Bytes, EventIdx};

use crate::counters::{Counters, Peaks, Tally};
use crate::device::Device;
use block::{Backing, Block, BlockId, Blocks, OwnerIdx, Segment, SegmentId, Segments, State, StreamIdx};
use options::Options;
use pool::{FreeKey, Owner, Shelf};
use profile::{Profile, TieBreak};
use rounding::{ABSURD, SMALL_LIMIT};

pub use seed::{SeedBlock, SeedSegment};
pub use view::{BlockView, SegmentView, Stranded};

/// What the program asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// How much, before rounding.
    pub size: Bytes,
    /// For which stream.
    pub stream: StreamIdx,
    /// From whose pool.
    pub owner: OwnerIdx,
}

/// A request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The block that was needed.
    pub size: Bytes,
    /// The segment that was asked for; the size PyTorch's message shows.
    pub segment: Bytes,
}

/// The allocator of one device.
#[derive(Clone, Debug)]
pub struct Torch<D> {
    profile: Profile,
    options: Options,
    /// `allowed_memory_maximum`: what may be held from the driver.
    limit: Option<Bytes>,
    device: D,
    blocks: Blocks,
    segments: Segments,
    owners: Vec<Owner>,
    /// Private owners that nobody uses any more, in the order in which their caches are released.
    abandoned: Vec<OwnerIdx>,
    /// Blocks whose free waits for another stream, in the order of the frees.
    pending: Vec<BlockId>,
    counters: Counters,
    peaks: Peaks,
    tally: Tally,
    now: EventIdx,
}

impl<D: Device> Torch<D> {
    /// An empty allocator. `limit` is what `set_per_process_memory_fraction` allows, if it was called.
    pub fn new(profile: Profile, options: Options, limit: Option<Bytes>, device: D) -> Torch<D> {
        let configured = options.per_process_memory_fraction.filter(|share| *share < 1.0).map(|share| {
            let bytes = share * device.total().0 as f64;
            Bytes(if profile.fraction_is_rounded { bytes.round() } else { bytes } as u64)
        });
        let limit = limit.into_iter().chain(configured).min();
        Torch {
            profile,
            options,
            limit,
            device,
            blocks: Blocks::default(),
            segments: Segments::default(),
            owners: vec![Owner::default()],
            abandoned: Vec::new(),
            pending: Vec::new(),
            counters: Counters::default(),
            peaks: Peaks::default(),
            tally: Tally::default(),
            now: EventIdx(0),
        }
    }

    /// Adds an owner of private pools. `capturing`: requests to it come from a graph capture.
    pub fn add_owner(&mut self, capturing: bool) -> OwnerIdx {
        self.owners.push(Owner { capturing, ..Owner::default() });
        OwnerIdx((self.owners.len() - 1) as u16)
    }

    /// The last user of a private owner is gone: from here on its cache may be released, after that of those abandoned
    /// before. PyTorch's own order is that of a hash table. An owner that is abandoned again moves to the end.
    pub fn abandon(&mut self, owner: OwnerIdx) {
        self.abandoned.retain(|other| *other != owner);
        self.abandoned.push(owner);
    }

    /// Sets the event that the following calls belong to; peaks are dated with it.
    pub fn set_now(&mut self, now: EventIdx) {
        self.now = now;
    }

    /// Serves a request, as PyTorch does: from the cache, else from the driver, else after giving back the cache.
    pub fn malloc(&mut self, request: Request) -> Result<BlockId, OutOfMemory> {
        let search = self.search(request);
        match self.find(&search) {
            Some(block) => Ok(self.place(block, &search, request.size)),
            None => {
                self.tally.ooms += 1;
                Err(OutOfMemory { size: search.size, segment: search.segment })
            }
        }
    }

    /// What a request comes to after rounding.
    fn search(&self, Request { size, stream, owner }: Request) -> Search {
        let size = self.options.block_size(size, &self.profile);
        let segment = self.options.segment_size(size);
        Search { size, segment, small: size <= SMALL_LIMIT, stream, owner }
    }

    /// A free block for `search`, taken out of its pool.
    fn find(&mut self, search: &Search) -> Option<BlockId> {
        if search.size >= ABSURD {
            return None;
        }
        if let Some(block) = self.take_cached(search) {
            return Some(block);
        }
        if self.collects_garbage() {
            self.collect_garbage();
        }
        if self.rejects_early(search) {
            return None;
        }
        if let Some(block) = self.grow(search) {
            return Some(block);
        }
        if self.release_oversized(search)
            && let Some(block) = self.grow(search)
        {
            return Some(block);
        }
        if self.owners[usize::from(search.owner.0)].capturing {
            return None;
        }
        self.empty_cache();
        self.tally.retries += 1;
        // The cache is not searched again: a block whose free has just completed is not found.
        self.grow(search)
    }

    /// The best fit among the free blocks of the search's pool and stream, unless the rules refuse it.
    fn take_cached(&mut self, search: &Search) -> Option<BlockId> {
        let counts_searches = self.collects_garbage();
        let expandable = self.options.expandable_segments;
        let (blocks, segments) = (&self.blocks, &self.segments);
        let pool = self.owners[usize::from(search.owner.0)].pool(search.small);
        pool.searches += u64::from(counts_searches);
        let shelf = pool.shelf(search.stream);
        let mut fits = shelf.free.range(FreeKey::at_least(search.size)..);
        let (mut key, mut block) = fits.next().map(|(key, id)| (*key, *id))?;
        let is_expandable = |id: BlockId| segments[blocks[id].segment].is_expandable();
        if is_expandable(block) && expandable {
            // A block that can grow into the unmapped space above it counts as that large.
            let reach = |id: BlockId| {
                let above =
                    blocks[id].next.map(|next| &blocks[next]).filter(|next| next.state == State::Unmapped);
                blocks[id].size + above.map_or(Bytes::ZERO, |next| next.size)
            };
            for (next_key, next) in fits {
                if !is_expandable(block) || reach(*next) >= reach(block) {
                    break;
                }
                (key, block) = (*next_key, *next);
            }
        } else if is_expandable(block) {
            (key, block) = fits.find(|(_, id)| !is_expandable(**id)).map(|(key, id)| (*key, *id))?;
        }
        if self.options.refuses(search.size, key.size) {
            return None;
        }
        shelf.free.remove(&key);
        Some(block)
    }

    /// Asks the driver for memory, within the limit.
    fn grow(&mut self, search: &Search) -> Option<BlockId> {
        let refused = self.limit.is_some_and(|limit| self.counters.reserved + search.segment > limit);
        if refused || self.rejects_early(search) {
            return None;
        }
        if self.options.expandable_segments {
            return self.grow_expandable(search);
        }
        let addr = self.device.malloc(search.segment)?;
        self.tally.driver_grows += 1;
        let segment = self.segments.add(search.segment_at(addr, search.segment, Backing::Fixed));
        self.raise_reserved(search.segment);
        Some(self.blocks.add(Block::free(addr, search.segment, segment)))
    }

    /// Whether `throw_on_cudamalloc_oom` ends the search here, with the cache as it is.
    fn rejects_early(&self, search: &Search) -> bool {
        let wanted = self.counters.reserved + search.segment;
        // What the limit refuses is not rejected early: it leads to a release of the cache.
        let refused = self.limit.is_some_and(|limit| wanted > limit);
        let share = self.options.per_process_memory_fraction.unwrap_or(1.0);
        let allowed = Bytes((share * self.device.total().0 as f64) as u64);
        self.options.throw_on_cudamalloc_oom && !refused && wanted > allowed
    }

    /// What is held and in use.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The greatest values of the counters so far.
    pub fn peaks(&self) -> &Peaks {
        &self.peaks
    }

    /// What happened under pressure so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The device, to look at.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device, to change it between calls.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// How many frees wait for another stream.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// A block by its id.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id]
    }

    /// A segment by its id.
    pub fn segment(&self, id: SegmentId) -> &Segment {
        &self.segments[id]
    }

    fn raise_reserved(&mut self, size: Bytes) {
        self.counters.reserved += size;
        self.peaks.raise(&self.counters, self.now);
    }

    /// The free blocks of `segment`'s owner, class and stream.
    #[inline]
    fn shelf_of(&mut self, segment: &Segment) -> &mut Shelf {
        self.owners[usize::from(segment.owner.0)].pool(segment.small).shelf(segment.stream)
    }

    fn free_key(&self, id: BlockId) -> FreeKey {
        let block = &self.blocks[id];
        let tie = match self.profile.tie_break {
            TieBreak::Address => block.addr.0,
            TieBreak::BlockCounter => block.registered,
            TieBreak::SegmentCounter => {
                let segment = &self.segments[block.segment];
                // Segments in their order, each as long as it is: a place in one, and within it, is one number.
                segment.made_after.0.wrapping_add(block.addr.0 - segment.addr.0)
            }
        };
        FreeKey { size: block.size, tie }
    }
}

/// A request after rounding.
#[derive(Clone, Copy, Debug)]
struct Search {
    size: Bytes,
    segment: Bytes,
    small: bool,
    stream: StreamIdx,
    owner: OwnerIdx,
}

impl Search {
    /// A segment that serves it.
    fn segment_at(&self, addr: Addr, size: Bytes, backing: Backing) -> Segment {
        let Search { small, stream, owner, .. } = *self;
        Segment { addr, size, stream, owner, small, backing, made_after: Bytes::ZERO }
    }
}
