//! Readings that could explain why a replay parted from the recording.

use oomph_trace::{Action, Addr, Bytes, Trace};

use crate::fidelity::{Divergence, Side};
use crate::program::{Assumptions, Program, UnownedSegment};
use crate::replay::Setup;
use crate::torch::rounding::{MIN_BLOCK, SMALL_LIMIT, SMALL_SEGMENT};

/// Revisions of what was assumed that could explain the divergence, likeliest first.
pub(super) fn revisions(
    assumed: &Assumptions,
    program: &Program,
    trace: &Trace,
    setup: &Setup,
    parted: &Divergence,
) -> Vec<Assumptions> {
    let parting = Parting { assumed, program, trace, setup, parted, at: parted.event.index() };
    let revisions = [
        parting.with_length(),
        parting.with_release(),
        parting.with_released_pools(),
        parting.with_private_segment(),
    ];
    revisions.into_iter().flatten().collect()
}

/// Where a replay under some assumptions parted from the recording.
struct Parting<'a> {
    assumed: &'a Assumptions,
    program: &'a Program,
    trace: &'a Trace,
    setup: &'a Setup,
    parted: &'a Divergence,
    /// The event.
    at: usize,
}

impl Parting<'_> {
    /// What was assumed, revised; `None` where that changes nothing.
    fn revised<R>(&self, revise: impl FnOnce(&mut Assumptions) -> R) -> Option<Assumptions> {
        let mut revised = self.assumed.clone();
        revise(&mut revised);
        (revised != *self.assumed).then_some(revised)
    }

    /// The replay used the space above a block of guessed length, which the recording passed over: so it was too
    /// small, and the block longer.
    fn with_length(&self) -> Option<Assumptions> {
        let Side::Served(replayed) = self.parted.replayed else { return None };
        let lengths = &self.program.open.lengths;
        let guess = lengths.iter().find(|guess| guess.addr.offset(guess.size) == replayed)?;
        let request = self.trace.events.get(self.at).filter(|event| event.action == Action::Alloc)?;
        let needed = self.setup.options.block_size(request.size, &self.setup.profile);
        let free = guess.room - guess.size;
        let length = guess.size + free.saturating_sub(needed.saturating_sub(MIN_BLOCK));
        if length == guess.size || length > guess.least + SMALL_LIMIT {
            return None;
        }
        self.revised(|revised| revised.lengths.insert(guess.addr, length))
    }

    /// The replay parted in a run of releases that can be read in two ways.
    fn with_release(&self) -> Option<Assumptions> {
        let mut releases = self.program.open.releases.iter();
        let (first, _) = releases.find(|(first, end)| (*first..=*end).contains(&self.at))?;
        self.revised(|revised| revised.flipped.insert(*first))
    }

    /// The replay does not give back what the recording does: private pools are released last, so this segment and
    /// those after it belonged to some. Each pool gives back its small segments first.
    fn with_released_pools(&self) -> Option<Assumptions> {
        if !matches!(self.parted.recorded, Side::Driver { action: Action::SegmentFree, .. }) {
            return None;
        }
        let rest = self.trace.events.get(self.at..)?.iter();
        let run = rest.take_while(|event| event.action == Action::SegmentFree).count();
        let segments = &self.program.open.segments;
        let mut pools = Vec::new();
        let mut pool = self.assumed.next_pool();
        let mut previous = Bytes::ZERO;
        for died in self.at..self.at + run {
            let segment = &segments[segments.binary_search_by_key(&died, |segment| segment.died).ok()?];
            if self.assumed.private.contains_key(&segment.born) {
                break;
            }
            pool += usize::from(previous > SMALL_SEGMENT && segment.size == SMALL_SEGMENT);
            previous = segment.size;
            pools.push((segment.born, pool));
        }
        self.revised(|revised| revised.private.extend(pools))
    }

    /// A segment was made although the cache would have served, or was used or passed over where another would have
    /// been: it belonged to a private pool.
    fn with_private_segment(&self) -> Option<Assumptions> {
        let (segments, private) = (&self.program.open.segments, &self.assumed.private);
        let in_doubt = |addr: Addr| {
            let around = segments.iter().find(|segment| {
                let offset = addr.0.wrapping_sub(segment.addr.0);
                offset < segment.size.0 && (segment.born..=segment.died).contains(&self.at)
            });
            around.filter(|segment| !private.contains_key(&segment.born))
        };
        let placed = |side: &Side| match side {
            Side::Served(addr) | Side::Driver { addr: Some(addr), .. } => Some(*addr),
            _ => None,
        };
        let sides = [&self.parted.recorded, &self.parted.replayed].into_iter().filter_map(placed);
        // The segment made for the request that parted, if one was.
        let calls = self.trace.events[self.at.min(self.trace.events.len())..].iter();
        let calls = calls.take_while(|event| event.action.is_driver_call());
        let grown = calls.filter(|event| matches!(event.action, Action::SegmentAlloc | Action::SegmentMap));
        let segment = sides.chain(grown.map(|event| event.addr)).find_map(in_doubt)?;
        // Pools are given back as a whole: what dies together on one stream is taken as one.
        let dies_with = |other: &&UnownedSegment| {
            other.stream == segment.stream
                && private.contains_key(&other.born)
                && self.is_one_run(other.died, segment.died)
        };
        let pool = segments.iter().find(dies_with).map(|other| private[&other.born]);
        let pool = pool.unwrap_or_else(|| self.assumed.next_pool());
        self.revised(|revised| revised.private.insert(segment.born, pool))
    }

    /// Whether two events belong to one run of driver calls.
    fn is_one_run(&self, a: usize, b: usize) -> bool {
        let run = self.trace.events.get(a.min(b)..=a.max(b));
        run.is_some_and(|run| run.iter().all(|event| event.action.is_driver_call()))
    }
}
