//! What was held before the first event: the final segments with every event undone.

use std::collections::BTreeMap;

use oomph_trace::{Action, Addr, Bytes, Event, EventIdx, Stream, Trace};

use super::ownership::Ownership;
use super::{AllocId, Allocation, GuessedLength, Source, shrinks};
use crate::torch::block::{OwnerIdx, State, StreamIdx};
use crate::torch::rounding::{ABSURD, SMALL_LIMIT, SMALL_SEGMENT};
use crate::torch::{SeedBlock, SeedSegment};

/// No expandable segment reserves more address space: 9/8 of the largest cards.
const LARGEST_SPACE: Bytes = Bytes::gib(128);

/// An allocation that existed before the first event.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlyAlloc {
    pub(super) id: AllocId,
    /// The block's length, where it still exists at the end.
    pub(super) length: Option<Bytes>,
    /// Whether the program had given it back already.
    pub(super) pending: bool,
}

/// What a replay starts from.
#[derive(Debug, Default)]
pub(super) struct Start {
    pub(super) seeds: Vec<SeedSegment>,
    /// The allocations in the seeds, in order.
    pub(super) allocs: Vec<AllocId>,
    /// The blocks among them whose length is a guess.
    pub(super) guesses: Vec<GuessedLength>,
    /// How many allocations lie in no segment.
    pub(super) outside: usize,
}

/// A range held from the driver.
#[derive(Clone, Copy, Debug)]
struct Range {
    size: Bytes,
    stream: Stream,
    owner: OwnerIdx,
    small: bool,
    expandable: bool,
}

/// Ranges held from the driver before the first event, by address.
#[derive(Clone, Debug)]
pub(super) struct Holdings(BTreeMap<Addr, Range>);

impl Holdings {
    /// Undoes the driver calls of the trace, last first.
    pub(super) fn before(source: &Source<'_>, ownership: &Ownership) -> Holdings {
        let Source { trace, survey, .. } = *source;
        let finally = trace.segments.iter().map(|segment| {
            let (size, stream, owner) = (segment.size, segment.stream, ownership.of_pool(segment.pool));
            (
                segment.addr,
                Range { size, stream, owner, small: segment.small, expandable: segment.expandable },
            )
        });
        let mut held = Holdings(finally.collect());
        let unmaps = survey.driver(trace).any(|(_, event)| event.action == Action::SegmentUnmap);
        let sizes = if unmaps { placed_sizes(trace) } else { Vec::new() };
        for (index, event) in survey.driver(trace).rev() {
            if event.action == Action::SegmentAlloc {
                held.0.remove(&event.addr);
            } else if event.action == Action::SegmentMap {
                held.cut(event.addr, event.size);
            } else if shrinks(event.action) {
                let (size, stream, owner) = (event.size, event.stream, ownership.of_event(index));
                let (small, expandable) = (is_small(event, &sizes), event.action == Action::SegmentUnmap);
                held.add(event.addr, Range { size, stream, owner, small, expandable });
            }
        }
        held.drop_contradictions();
        held
    }

    /// Leaves out what cannot have been held at once: ranges that overlap the one below them, empty ones, and what
    /// exceeds all memory there is. An honest recording that is whole has none of these.
    fn drop_contradictions(&mut self) {
        let (mut end, mut total) = (Addr(0), Bytes::ZERO);
        self.0.retain(|addr, range| {
            let keeps = *addr >= end && range.size > Bytes::ZERO && total + range.size <= ABSURD;
            if keeps {
                (end, total) = (addr.offset(range.size), total + range.size);
            }
            keeps
        });
    }

    /// All of it.
    pub(super) fn total(&self) -> Bytes {
        self.0.values().map(|range| range.size).sum()
    }

    /// The streams it serves.
    pub(super) fn streams(&self) -> impl Iterator<Item = Stream> {
        self.0.values().map(|range| range.stream)
    }

    /// Takes a range away, out of the middle of another if need be.
    fn cut(&mut self, addr: Addr, size: Bytes) {
        let around = self.0.range(..=addr).next_back().map(|(start, range)| (*start, *range));
        let Some((start, range)) = around.filter(|(start, range)| addr.0 - start.0 < range.size.0) else {
            return;
        };
        self.0.remove(&start);
        let before = Bytes(addr.0 - start.0);
        if before > Bytes::ZERO {
            self.0.insert(start, Range { size: before, ..range });
        }
        let after = range.size.saturating_sub(before + size);
        if after > Bytes::ZERO {
            self.0.insert(addr.offset(size), Range { size: after, ..range });
        }
    }

    /// Puts a range back; a mapped one joins those it touches, whose class it shares.
    fn add(&mut self, addr: Addr, mut range: Range) {
        let mut start = addr;
        if range.expandable {
            let below = self.0.range(..addr).next_back().map(|(at, below)| (*at, *below));
            if let Some((at, below)) =
                below.filter(|(at, below)| below.expandable && at.offset(below.size) == addr)
            {
                start = at;
                range = Range { size: below.size + range.size, ..below };
            }
            let end = start.offset(range.size);
            if let Some(above) = self.0.get(&end).copied().filter(|above| above.expandable) {
                self.0.remove(&end);
                range = Range { size: range.size + above.size, ..above };
            }
        }
        self.0.insert(start, range);
    }

    /// Places the allocations that were there before the first event in these ranges.
    pub(super) fn into_start(
        self,
        source: &Source<'_>,
        mut early: Vec<EarlyAlloc>,
        allocations: &[Allocation],
        rank: impl Fn(Stream) -> StreamIdx,
    ) -> Start {
        let addr_of = |alloc: &EarlyAlloc| allocations[alloc.id.index()].addr;
        early.sort_by_key(addr_of);
        let mut starts: Vec<(Addr, EventIdx)> = Vec::new();
        if !early.is_empty() {
            starts.extend(allocations.iter().filter_map(|found| Some((found.addr, found.born()?))));
            starts.sort_unstable();
        }
        let maps = self.0.values().any(|range| range.expandable);
        let mapped = if maps { mapped(source) } else { Vec::new() };
        let mut early = early.into_iter().peekable();
        let mut found = Start::default();
        for (start, range) in self.0 {
            let end = start.offset(range.size);
            let mut members = Vec::new();
            while let Some(alloc) = early.next_if(|alloc| addr_of(alloc) < end) {
                if addr_of(&alloc) < start { found.outside += 1 } else { members.push(alloc) }
            }
            let mut blocks = Vec::new();
            let mut at = start;
            for (place, alloc) in members.iter().enumerate() {
                let allocation = &allocations[alloc.id.index()];
                let addr = allocation.addr;
                let room = Bytes(members.get(place + 1).map_or(end, addr_of).0 - addr.0);
                if addr < at || room == Bytes::ZERO {
                    found.outside += 1;
                    continue;
                }
                push_free(&mut blocks, Bytes(addr.0 - at.0));
                let certain = alloc.length.map(|length| (length.min(room), false));
                let (least, is_guess) =
                    certain.unwrap_or_else(|| block_length(source, allocation, room, &range, &starts));
                let assumed = source.assumptions.lengths.get(&addr);
                let size = assumed.map_or(least, |assumed| (*assumed).min(room));
                if is_guess {
                    found.guesses.push(GuessedLength { addr, least, size, room });
                }
                let state = if alloc.pending { State::PendingFree } else { State::Allocated };
                blocks.push(SeedBlock { size, requested: allocation.size.min(size), state });
                found.allocs.push(alloc.id);
                at = addr.offset(size);
            }
            push_free(&mut blocks, Bytes(end.0 - at.0));
            found.seeds.push(SeedSegment {
                addr: start,
                stream: rank(range.stream),
                owner: range.owner,
                small: range.small,
                expandable: range.expandable,
                space: if range.expandable { lowest_mapped(&mapped, start, &range) } else { start },
                blocks,
            });
        }
        found.outside += early.count();
        found
    }
}

/// The length of a block that existed before the start, with `room` bytes up to the next, and whether it is a guess.
///
/// Small and expandable blocks are cut exactly. A large block keeps a rest of up to 1 MiB, and no free block in a
/// large pool is that small, so a short gap above belongs to it. In a longer gap, whatever is placed there first
/// while the block lives, is placed at its end; if nothing is, its end cannot be seen. `starts`: where allocations were
/// placed and by which event, by address.
fn block_length(
    source: &Source<'_>,
    allocation: &Allocation,
    room: Bytes,
    range: &Range,
    starts: &[(Addr, EventIdx)],
) -> (Bytes, bool) {
    let size = source.options.block_size(allocation.size, source.profile).min(room);
    if range.small || range.expandable {
        return (size, false);
    }
    if source.options.max_split_size.is_some_and(|max| size >= max) || room - size <= SMALL_LIMIT {
        return (room, false);
    }
    let (from, to) = (allocation.addr.offset(size), allocation.addr.offset(size + SMALL_LIMIT));
    let first = starts.partition_point(|(addr, _)| *addr < from);
    let mut near = starts[first..].iter().take_while(|(addr, _)| *addr <= to);
    let lives_at = |event: EventIdx| allocation.freed().is_none_or(|freed| event < freed);
    let end = near.find(|(_, event)| lives_at(*event)).map(|(addr, _)| *addr);
    match end.and_then(|end| end.distance_from(allocation.addr)) {
        Some(seen) => (seen, false),
        None => (size, true),
    }
}

/// Whether what is given back here served small requests. Whole segments tell by their size, mapped runs by what lay
/// in them.
fn is_small(event: &Event, sizes: &[(Addr, Bytes)]) -> bool {
    let first = sizes.partition_point(|(addr, _)| *addr < event.addr);
    let inside = sizes.get(first).filter(|(addr, _)| *addr < event.addr.offset(event.size));
    match inside.filter(|_| event.action != Action::SegmentFree) {
        Some((_, size)) => *size <= SMALL_LIMIT,
        None => event.size == SMALL_SEGMENT,
    }
}

/// Where pages are mapped, by stream and class, then by address.
fn mapped(source: &Source<'_>) -> Vec<(Stream, bool, Addr)> {
    let sizes = placed_sizes(source.trace);
    let calls = source.survey.driver(source.trace).map(|(_, event)| event);
    let maps = calls.filter(|event| event.action == Action::SegmentMap);
    let mut mapped: Vec<_> = maps.map(|event| (event.stream, is_small(event, &sizes), event.addr)).collect();
    mapped.sort_unstable();
    mapped
}

/// Where the address space around a mapped run begins, as far as the trace shows it: the lowest address at which
/// pages are mapped for the same stream and class, within what one segment can reserve.
fn lowest_mapped(mapped: &[(Stream, bool, Addr)], start: Addr, range: &Range) -> Addr {
    let furthest = Addr(start.0.saturating_sub(LARGEST_SPACE.0 - 1));
    let first = mapped.partition_point(|entry| *entry < (range.stream, range.small, furthest));
    let found = mapped.get(first).filter(|entry| **entry < (range.stream, range.small, start));
    found.map_or(start, |(_, _, addr)| *addr)
}

/// What was placed or freed where, by address.
fn placed_sizes(trace: &Trace) -> Vec<(Addr, Bytes)> {
    let placed = |event: &&Event| {
        matches!(event.action, Action::Alloc | Action::FreeRequested | Action::FreeCompleted)
    };
    let mut sizes: Vec<_> =
        trace.events.iter().filter(placed).map(|event| (event.addr, event.size)).collect();
    sizes.sort_unstable();
    sizes
}

fn push_free(blocks: &mut Vec<SeedBlock>, size: Bytes) {
    if size > Bytes::ZERO {
        blocks.push(SeedBlock { size, requested: Bytes::ZERO, state: State::Free });
    }
}
