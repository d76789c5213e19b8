//! What was held before the first event: the final segments with every event undone.

use std::collections::BTreeMap;

use oomph_trace::{Action, Addr, Block, BlockState, Bytes, Event, Snapshot, Stream, Trace};

use super::ownership::Ownership;
use super::{AllocId, Assumptions, GuessedLength};
use crate::torch::block::{OwnerIdx, State, StreamIdx};
use crate::torch::options::Options;
use crate::torch::profile::Profile;
use crate::torch::rounding::{self, ABSURD, SMALL_LIMIT, SMALL_SEGMENT};
use crate::torch::{SeedBlock, SeedSegment};

/// No expandable segment reserves more address space: 9/8 of the largest cards.
const LARGEST_SPACE: Bytes = Bytes::gib(128);

/// An allocation that existed before the first event.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlyAlloc {
    pub(super) alloc: AllocId,
    pub(super) addr: Addr,
    pub(super) requested: Bytes,
    /// The block's length, where it still exists at the end.
    pub(super) size: Option<Bytes>,
    pub(super) pending: bool,
    /// The event that frees it; past the last one where none does.
    pub(super) freed_at: usize,
}

/// A range held from the driver.
#[derive(Clone, Copy, Debug)]
struct Run {
    size: Bytes,
    stream: Stream,
    owner: OwnerIdx,
    small: bool,
    expandable: bool,
}

/// Ranges held from the driver before the first event, by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Held(BTreeMap<Addr, Run>);

impl Held {
    /// Undoes the driver calls of `trace`, last first.
    pub(super) fn before(snapshot: &Snapshot, trace: &Trace, ownership: &Ownership) -> Held {
        let mut held = Held::default();
        for segment in &trace.segments {
            let run = Run {
                size: segment.size,
                stream: segment.stream,
                owner: ownership.of_pool(snapshot.pool_id(segment.pool)),
                small: segment.small,
                expandable: segment.expandable,
            };
            held.0.insert(segment.addr, run);
        }
        let unmaps = trace.events.iter().any(|event| event.action == Action::SegmentUnmap);
        let sizes = if unmaps { placed_sizes(trace) } else { Vec::new() };
        for (index, event) in trace.events.iter().enumerate().rev() {
            match event.action {
                Action::SegmentAlloc => {
                    held.0.remove(&event.addr);
                }
                Action::SegmentMap => held.cut(event.addr, event.size),
                Action::SegmentFree | Action::SegmentUnmap => {
                    let run = Run {
                        size: event.size,
                        stream: event.stream,
                        owner: ownership.of_event(index),
                        small: is_small(event, &sizes),
                        expandable: event.action == Action::SegmentUnmap,
                    };
                    held.add(event.addr, run);
                }
                _ => {}
            }
        }
        held.drop_contradictions();
        held
    }

    /// Leaves out what cannot have been held at once: ranges that overlap the one below them, empty ones, and what
    /// exceeds all memory there is. An honest recording that is whole has none of these.
    fn drop_contradictions(&mut self) {
        let (mut end, mut total) = (Addr(0), Bytes::ZERO);
        self.0.retain(|addr, run| {
            let keeps = *addr >= end && run.size > Bytes::ZERO && total + run.size <= ABSURD;
            if keeps {
                (end, total) = (addr.offset(run.size), total + run.size);
            }
            keeps
        });
    }

    /// All of it.
    pub(super) fn total(&self) -> Bytes {
        self.0.values().map(|run| run.size).sum()
    }

    /// The streams it serves.
    pub(super) fn streams(&self) -> impl Iterator<Item = Stream> {
        self.0.values().map(|run| run.stream)
    }

    fn containing(&self, addr: Addr) -> Option<(Addr, Run)> {
        let (start, run) = self.0.range(..=addr).next_back()?;
        (addr.0 - start.0 < run.size.0).then_some((*start, *run))
    }

    /// Takes a range away, out of the middle of a run if need be.
    fn cut(&mut self, addr: Addr, size: Bytes) {
        let Some((start, run)) = self.containing(addr) else { return };
        self.0.remove(&start);
        let before = Bytes(addr.0 - start.0);
        if before > Bytes::ZERO {
            self.0.insert(start, Run { size: before, ..run });
        }
        let after = run.size.saturating_sub(before + size);
        if after > Bytes::ZERO {
            self.0.insert(addr.offset(size), Run { size: after, ..run });
        }
    }

    /// Puts a range back; a mapped one joins the runs it touches, whose class it shares.
    fn add(&mut self, addr: Addr, mut run: Run) {
        let mut start = addr;
        if run.expandable {
            let below = self.0.range(..addr).next_back().map(|(at, run)| (*at, *run));
            if let Some((at, below)) =
                below.filter(|(at, below)| below.expandable && at.offset(below.size) == addr)
            {
                self.0.remove(&at);
                start = at;
                run = Run { size: below.size + run.size, ..below };
            }
            let end = start.offset(run.size);
            if let Some(above) = self.0.get(&end).copied().filter(|above| above.expandable) {
                self.0.remove(&end);
                run = Run { size: run.size + above.size, ..above };
            }
        }
        self.0.insert(start, run);
    }

    /// The seeds of a replay and the allocations in them; whose lengths are guesses; how many allocations lie nowhere.
    pub(super) fn into_seeds(
        self,
        trace: &Trace,
        mut early: Vec<EarlyAlloc>,
        rank: impl Fn(Stream) -> StreamIdx,
        options: &Options,
        profile: &Profile,
        assumptions: &Assumptions,
    ) -> (Vec<SeedSegment>, Vec<AllocId>, Vec<GuessedLength>, usize) {
        early.sort_by_key(|alloc| alloc.addr);
        let starts = if early.is_empty() { Vec::new() } else { placements(trace) };
        let mapped = if self.0.values().any(|run| run.expandable) { mapped(trace) } else { Vec::new() };
        let mut early = early.into_iter().peekable();
        let (mut seeds, mut allocs) = (Vec::new(), Vec::new());
        let (mut guessed, mut outside) = (Vec::new(), 0);
        for (start, run) in self.0 {
            let end = start.offset(run.size);
            let mut members = Vec::new();
            while let Some(alloc) = early.next_if(|alloc| alloc.addr < end) {
                if alloc.addr < start { outside += 1 } else { members.push(alloc) }
            }
            let mut blocks = Vec::new();
            let mut at = start;
            for (place, alloc) in members.iter().enumerate() {
                let limit = members.get(place + 1).map_or(end, |next| next.addr);
                let room = Bytes(limit.0 - alloc.addr.0);
                if alloc.addr < at || room == Bytes::ZERO {
                    outside += 1;
                    continue;
                }
                push_free(&mut blocks, Bytes(alloc.addr.0 - at.0));
                let (least, is_guess) = block_length(alloc, room, &run, &starts, options, profile);
                let size = assumptions.lengths.get(&alloc.addr).map_or(least, |assumed| (*assumed).min(room));
                if is_guess {
                    guessed.push(GuessedLength { addr: alloc.addr, least, size, room });
                }
                let state = if alloc.pending { State::PendingFree } else { State::Allocated };
                blocks.push(SeedBlock { size, requested: alloc.requested.min(size), state });
                allocs.push(alloc.alloc);
                at = alloc.addr.offset(size);
            }
            push_free(&mut blocks, Bytes(end.0 - at.0));
            seeds.push(SeedSegment {
                addr: start,
                stream: rank(run.stream),
                owner: run.owner,
                small: run.small,
                expandable: run.expandable,
                space: if run.expandable { lowest_mapped(&mapped, start, &run) } else { start },
                blocks,
            });
        }
        outside += early.count();
        (seeds, allocs, guessed, outside)
    }
}

/// The length of a block that existed before the start, with `room` bytes up to the next, and whether it is a guess.
///
/// Small and expandable blocks are cut exactly. A large block keeps a rest of up to 1 MiB, and no free block in a
/// large pool is that small, so a short gap above belongs to it. In a longer gap, whatever is placed there first
/// while the block lives, is placed at its end; if nothing is, its end cannot be seen.
fn block_length(
    alloc: &EarlyAlloc,
    room: Bytes,
    run: &Run,
    starts: &[(Addr, usize)],
    options: &Options,
    profile: &Profile,
) -> (Bytes, bool) {
    if let Some(size) = alloc.size {
        return (size.min(room), false);
    }
    let size = rounding::block_size(alloc.requested, &options.roundup_power2_divisions, profile).min(room);
    if run.small || run.expandable {
        return (size, false);
    }
    let gap = room - size;
    if options.max_split_size.is_some_and(|max| size >= max) || gap <= SMALL_LIMIT {
        return (room, false);
    }
    let (from, to) = (alloc.addr.offset(size), alloc.addr.offset(size + SMALL_LIMIT));
    let first = starts.partition_point(|(addr, _)| *addr < from);
    let near = starts[first..].iter().take_while(|(addr, _)| *addr <= to);
    let end = near.filter(|(_, event)| *event < alloc.freed_at).map(|(addr, _)| *addr).next();
    match end.and_then(|end| end.distance_from(alloc.addr)) {
        Some(seen) => (seen, false),
        None => (size, true),
    }
}

/// Whether what is given back here served small requests. Whole segments tell by their size, mapped runs by what lay
/// in them.
fn is_small(event: &Event, sizes: &[(Addr, Bytes)]) -> bool {
    if event.action == Action::SegmentFree {
        return event.size == SMALL_SEGMENT;
    }
    let end = event.addr.offset(event.size);
    let first = sizes.partition_point(|(addr, _)| *addr < event.addr);
    match sizes.get(first).filter(|(addr, _)| *addr < end) {
        Some((_, size)) => *size <= SMALL_LIMIT,
        None => event.size == SMALL_SEGMENT,
    }
}

/// Where pages are mapped, by stream and class, then by address.
fn mapped(trace: &Trace) -> Vec<(Stream, bool, Addr)> {
    let sizes = placed_sizes(trace);
    let maps = trace.events.iter().filter(|event| event.action == Action::SegmentMap);
    let mut mapped: Vec<_> = maps.map(|event| (event.stream, is_small(event, &sizes), event.addr)).collect();
    mapped.sort_unstable();
    mapped
}

/// Where the address space around a mapped run begins, as far as the trace shows it: the lowest address at which
/// pages are mapped for the same stream and class, within what one segment can reserve.
fn lowest_mapped(mapped: &[(Stream, bool, Addr)], start: Addr, run: &Run) -> Addr {
    let furthest = Addr(start.0.saturating_sub(LARGEST_SPACE.0 - 1));
    let first = mapped.partition_point(|entry| *entry < (run.stream, run.small, furthest));
    let found = mapped.get(first).filter(|entry| **entry < (run.stream, run.small, start));
    found.map_or(start, |(_, _, addr)| *addr)
}

/// What was placed or freed where, by address.
fn placed_sizes(trace: &Trace) -> Vec<(Addr, Bytes)> {
    let placed = |event: &&Event| {
        matches!(event.action, Action::Alloc | Action::FreeRequested | Action::FreeCompleted)
    };
    let mut sizes: Vec<(Addr, Bytes)> =
        trace.events.iter().filter(placed).map(|event| (event.addr, event.size)).collect();
    sizes.sort_unstable();
    sizes
}

/// Where allocations were placed, and by which event; by address.
fn placements(trace: &Trace) -> Vec<(Addr, usize)> {
    let allocs = trace.events.iter().enumerate().filter(|(_, event)| event.action == Action::Alloc);
    let mut starts: Vec<(Addr, usize)> = allocs.map(|(index, event)| (event.addr, index)).collect();
    starts.sort_unstable();
    starts
}

fn push_free(blocks: &mut Vec<SeedBlock>, size: Bytes) {
    if size > Bytes::ZERO {
        blocks.push(SeedBlock { size, requested: Bytes::ZERO, state: State::Free });
    }
}

/// The active blocks of the final segments.
pub(super) fn active_blocks(trace: &Trace) -> impl Iterator<Item = &Block> {
    trace.segments.iter().flat_map(|segment| &segment.blocks).filter(|block| block.state != BlockState::Free)
}
