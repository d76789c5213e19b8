//! PyTorch's allocator a second time, as simple as possible: one flat list of blocks, and every question is answered by
//! looking at all of them. It shares only options, versions, rounding and the device with the engine, so that where the
//! two agree, both are probably right.

mod expand;
mod release;
mod search;

use oomph_engine::counters::{Counters, Tally};
use oomph_engine::device::Device;
use oomph_engine::torch::Request;
use oomph_engine::torch::block::State;
use oomph_engine::torch::options::Options;
use oomph_engine::torch::profile::Profile;
use oomph_engine::torch::rounding::{self, SMALL_LIMIT};
use oomph_trace::{Addr, Bytes};

/// The name of a block. No two blocks ever have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(u64);

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NaiveBlock {
    /// Where it begins.
    pub addr: Addr,
    /// How long it is.
    pub size: Bytes,
    /// What was asked for; 0 unless it is active.
    pub requested: Bytes,
    /// Its state.
    pub state: State,
    /// The stream of its segment.
    pub stream: u16,
    /// The owner of its segment.
    pub owner: u16,
    /// The class of its segment.
    pub small: bool,
    /// Whether its segment is expandable.
    pub expandable: bool,
    /// Handles count up, so it also tells when the block was made.
    handle: Handle,
    /// The number of its segment; these count up, too.
    segment: u64,
    /// Where the segment begins.
    base: Addr,
    /// How often its pool had been searched when it became free.
    free_since: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Owner {
    captures: bool,
    /// Searches of the small and of the large pool.
    searches: [u64; 2],
}

/// A request after rounding.
#[derive(Clone, Copy, Debug)]
struct Search {
    size: Bytes,
    segment: Bytes,
    small: bool,
    stream: u16,
    owner: u16,
}

/// The naive allocator.
#[derive(Clone, Debug)]
pub struct Naive<D> {
    profile: Profile,
    options: Options,
    limit: Option<Bytes>,
    device: D,
    blocks: Vec<NaiveBlock>,
    owners: Vec<Owner>,
    /// Owners without users, in the order in which they are released.
    abandoned: Vec<u16>,
    /// Pending frees in their order.
    pending: Vec<Handle>,
    tally: Tally,
    handles: u64,
    segments: u64,
}

impl<D: Device> Naive<D> {
    /// An empty allocator.
    pub fn new(profile: Profile, options: Options, limit: Option<Bytes>, device: D) -> Naive<D> {
        Naive {
            profile,
            options,
            limit,
            device,
            blocks: Vec::new(),
            owners: vec![Owner::default()],
            abandoned: Vec::new(),
            pending: Vec::new(),
            tally: Tally::default(),
            handles: 0,
            segments: 0,
        }
    }

    /// Adds an owner of private pools; they count up from 1.
    pub fn add_owner(&mut self, captures: bool) {
        self.owners.push(Owner { captures, ..Owner::default() });
    }

    /// The last user of an owner is gone. PyTorch keeps such owners in a hash table; here and in the engine they are
    /// released in the order in which they were abandoned last.
    pub fn abandon(&mut self, owner: u16) {
        self.abandoned.retain(|other| *other != owner);
        self.abandoned.push(owner);
    }

    /// `malloc`, step by step as PyTorch does it.
    pub fn malloc(&mut self, request: Request) -> Option<Handle> {
        let size = rounding::block_size(request.size, &self.options.roundup_power2_divisions, &self.profile);
        let search = Search {
            size,
            segment: rounding::segment_size(size, self.options.large_segment_size),
            small: size <= SMALL_LIMIT,
            stream: request.stream.0,
            owner: request.owner.0,
        };
        let found = self.find(search);
        if found.is_none() {
            self.tally.ooms += 1;
        }
        found.map(|found| self.serve(found, search, request.size))
    }

    fn find(&mut self, search: Search) -> Option<Handle> {
        if let Some(found) = self.get_free_block(search) {
            return Some(found);
        }
        if self.collects() {
            self.garbage_collect();
        }
        match self.alloc_block(search) {
            Grant::Block(found) => return Some(found),
            Grant::Rejected => return None,
            Grant::No => {}
        }
        if self.release_available(search)
            && let Grant::Block(found) = self.alloc_block(search)
        {
            return Some(found);
        }
        if self.owners[usize::from(search.owner)].captures {
            return None;
        }
        self.empty_cache();
        self.tally.retries += 1;
        match self.alloc_block(search) {
            Grant::Block(found) => Some(found),
            Grant::Rejected | Grant::No => None,
        }
    }

    fn alloc_block(&mut self, search: Search) -> Grant {
        let held = self.counters().reserved;
        if self.limit.is_some_and(|limit| held + search.segment > limit) {
            return Grant::No;
        }
        if self.options.throw_on_cudamalloc_oom {
            let share = self.options.per_process_memory_fraction.unwrap_or(1.0);
            if (held + search.segment).0 > (share * self.device.total().0 as f64) as u64 {
                return Grant::Rejected;
            }
        }
        let found = if self.options.expandable_segments {
            self.grow_expandable(search)
        } else {
            self.device.malloc(search.segment).map(|addr| {
                self.tally.driver_grows += 1;
                self.new_segment(addr, search.segment, search, false)
            })
        };
        found.map_or(Grant::No, Grant::Block)
    }

    fn new_segment(&mut self, addr: Addr, size: Bytes, search: Search, expandable: bool) -> Handle {
        self.segments += 1;
        let block = NaiveBlock {
            addr,
            size,
            requested: Bytes::ZERO,
            state: if expandable { State::Unmapped } else { State::Free },
            stream: search.stream,
            owner: search.owner,
            small: search.small,
            expandable,
            handle: Handle(0),
            segment: self.segments,
            base: addr,
            free_since: 0,
        };
        self.add(block)
    }

    /// Gives part of the found block to the request.
    fn serve(&mut self, found: Handle, search: Search, requested: Bytes) -> Handle {
        let whole = *self.get(found);
        let rest = whole.size - search.size;
        let splits = if search.small || self.options.expandable_segments {
            rest.0 >= 512
        } else {
            self.options.max_split_size.is_none_or(|max| search.size < max) && rest.0 > 1 << 20
        };
        let served = if splits {
            let front = self.add(NaiveBlock { size: search.size, ..whole });
            let behind = self.get_mut(found);
            behind.addr = whole.addr.offset(search.size);
            behind.size = rest;
            self.insert(found);
            front
        } else {
            found
        };
        let block = self.get_mut(served);
        block.state = State::Allocated;
        block.requested = requested;
        served
    }

    /// The program gives a block back that no other stream uses.
    pub fn free(&mut self, handle: Handle) {
        let block = self.get_mut(handle);
        block.state = State::Free;
        block.requested = Bytes::ZERO;
        self.merge(handle);
        self.insert(handle);
    }

    /// The program gives a block back that another stream uses.
    pub fn free_later(&mut self, handle: Handle) {
        self.get_mut(handle).state = State::PendingFree;
        self.pending.push(handle);
    }

    /// No other stream uses the block any more.
    pub fn complete(&mut self, handle: Handle) {
        self.pending.retain(|pending| *pending != handle);
        self.free(handle);
    }

    /// Whether the block still waits for another stream.
    pub fn is_pending(&self, handle: Handle) -> bool {
        self.pending.contains(&handle)
    }

    /// Joins a block with its neighbours of the same state. The block stays and the neighbours go.
    fn merge(&mut self, handle: Handle) {
        let block = *self.get(handle);
        let (below, above) = (self.below(&block), self.above(&block));
        let joins = |other: &NaiveBlock| other.state == block.state;
        if let Some(below) = below.filter(joins) {
            self.remove(below.handle);
            let block = self.get_mut(handle);
            block.addr = below.addr;
            block.size += below.size;
        }
        if let Some(above) = above.filter(joins) {
            self.remove(above.handle);
            self.get_mut(handle).size += above.size;
        }
    }

    /// A free block enters its set, where its age begins.
    fn insert(&mut self, handle: Handle) {
        let block = *self.get(handle);
        let searches = self.owners[usize::from(block.owner)].searches[usize::from(block.small)];
        self.get_mut(handle).free_since = searches;
    }

    fn below(&self, block: &NaiveBlock) -> Option<NaiveBlock> {
        let is_below = |b: &&NaiveBlock| b.segment == block.segment && b.addr.offset(b.size) == block.addr;
        self.blocks.iter().find(is_below).copied()
    }

    fn above(&self, block: &NaiveBlock) -> Option<NaiveBlock> {
        let end = block.addr.offset(block.size);
        self.blocks.iter().find(|b| b.segment == block.segment && b.addr == end).copied()
    }

    fn add(&mut self, block: NaiveBlock) -> Handle {
        self.handles += 1;
        let handle = Handle(self.handles);
        self.blocks.push(NaiveBlock { handle, ..block });
        handle
    }

    fn remove(&mut self, handle: Handle) {
        self.blocks.retain(|block| block.handle != handle);
    }

    fn get(&self, handle: Handle) -> &NaiveBlock {
        self.blocks
            .iter()
            .find(|block| block.handle == handle)
            .expect("a handle is used while its block lives")
    }

    fn get_mut(&mut self, handle: Handle) -> &mut NaiveBlock {
        self.blocks
            .iter_mut()
            .find(|block| block.handle == handle)
            .expect("a handle is used while its block lives")
    }

    /// The device, whose calls were recorded.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Where a block lies.
    pub fn addr(&self, handle: Handle) -> Addr {
        self.get(handle).addr
    }

    /// Everything that is mapped, by address.
    pub fn blocks(&self) -> Vec<NaiveBlock> {
        let mut blocks: Vec<_> = self.blocks.iter().filter(|b| b.state != State::Unmapped).copied().collect();
        blocks.sort_by_key(|block| block.addr);
        blocks
    }

    /// The counters, added up.
    pub fn counters(&self) -> Counters {
        let sum = |states: &[State], of: fn(&NaiveBlock) -> Bytes| {
            self.blocks.iter().filter(|block| states.contains(&block.state)).map(of).sum()
        };
        let active = [State::Allocated, State::PendingFree];
        Counters {
            requested: sum(&active, |block| block.requested),
            allocated: sum(&[State::Allocated], |block| block.size),
            active: sum(&active, |block| block.size),
            reserved: sum(&[State::Allocated, State::PendingFree, State::Free], |block| block.size),
        }
    }

    /// What happened under pressure.
    pub fn tally(&self) -> Tally {
        self.tally
    }
}

/// The driver's answer.
enum Grant {
    Block(Handle),
    /// `throw_on_cudamalloc_oom` ended the request.
    Rejected,
    No,
}
