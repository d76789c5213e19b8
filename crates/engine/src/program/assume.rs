//! Reading a recording by contradiction: the simplest reading first, and where a replay of it parts from the recording,
//! the one reading that explains the parting. Every address still has to agree, so a wrong reading does not survive.

use std::collections::BTreeMap;

use oomph_trace::{Action, Addr, Bytes, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{OpenQuestions, Program};
use crate::fidelity::{Divergence, Side};
use crate::replay::Setup;
use crate::torch::rounding::{MIN_BLOCK, SMALL_LIMIT, SMALL_SEGMENT, block_size};

/// How the recording is read where it can be read in more than one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumptions {
    /// Runs of releases, by first event, that mean the other of pressure and `empty_cache` than seemed likelier.
    pub(super) flipped: FxHashSet<usize>,
    /// Segments, by the event that made them, that belong to a private pool: the number of the pool.
    pub(super) private: FxHashMap<usize, usize>,
    /// Lengths of blocks in use before the first event, by address.
    pub(super) lengths: BTreeMap<Addr, Bytes>,
}

impl Assumptions {
    /// Revised readings that could explain why a replay parted from the recording, likeliest first.
    pub(crate) fn revised(
        &self,
        program: &Program,
        trace: &Trace,
        setup: &Setup,
        parted: &Divergence,
    ) -> Vec<Assumptions> {
        let revisions = [
            self.with_length(program, trace, setup, parted),
            self.with_release(&program.open, parted),
            self.with_released_pools(program, trace, parted),
            self.with_private_segment(program, trace, parted),
        ];
        revisions.into_iter().flatten().collect()
    }

    /// How many questions about single blocks and segments are settled.
    pub(crate) fn settled(&self) -> (usize, Bytes) {
        (self.private.len(), self.lengths.values().copied().sum())
    }

    /// The replay parted in a run of releases that can be read in two ways.
    fn with_release(&self, open: &OpenQuestions, parted: &Divergence) -> Option<Assumptions> {
        let at = parted.event.index();
        let (first, _) = open.releases.iter().find(|(first, end)| (*first..=*end).contains(&at))?;
        let mut revised = self.clone();
        revised.flipped.insert(*first).then_some(revised)
    }

    /// The replay used the space above a block of guessed length, which the recording passed over: so it was too
    /// small, and the block longer.
    fn with_length(
        &self,
        program: &Program,
        trace: &Trace,
        setup: &Setup,
        parted: &Divergence,
    ) -> Option<Assumptions> {
        let Side::Served(replayed) = parted.replayed else { return None };
        let guess = program.open.lengths.iter().find(|guess| guess.addr.offset(guess.size) == replayed)?;
        let request = trace.events.get(parted.event.index()).filter(|event| event.action == Action::Alloc)?;
        let free = guess.room - guess.size;
        let needed = block_size(request.size, &setup.options.roundup_power2_divisions, &setup.profile);
        let longer = free.saturating_sub(needed.saturating_sub(MIN_BLOCK));
        let length = guess.size + longer;
        if longer == Bytes::ZERO || length > guess.least + SMALL_LIMIT {
            return None;
        }
        let mut revised = self.clone();
        revised.lengths.insert(guess.addr, length);
        Some(revised)
    }

    /// The replay does not give back what the recording does: private pools are released last, so this segment and
    /// those after it belonged to some. Each pool gives back its small segments first.
    fn with_released_pools(
        &self,
        program: &Program,
        trace: &Trace,
        parted: &Divergence,
    ) -> Option<Assumptions> {
        let at = parted.event.index();
        if !matches!(parted.recorded, Side::Driver { action: Action::SegmentFree, .. }) {
            return None;
        }
        let run =
            trace.events.get(at..)?.iter().take_while(|event| event.action == Action::SegmentFree).count();
        let mut revised = self.clone();
        let mut pool = self.private.values().max().map_or(0, |last| last + 1);
        let mut previous: Option<Bytes> = None;
        for died in at..at + run {
            let place = program.open.segments.binary_search_by_key(&died, |segment| segment.died).ok()?;
            let segment = &program.open.segments[place];
            if self.private.contains_key(&segment.born) {
                break;
            }
            if previous.is_some_and(|previous| previous > SMALL_SEGMENT && segment.size == SMALL_SEGMENT) {
                pool += 1;
            }
            previous = Some(segment.size);
            revised.private.insert(segment.born, pool);
        }
        (revised != *self).then_some(revised)
    }

    /// A segment was made although the cache would have served, or was used or passed over where another would have
    /// been: it belonged to a private pool.
    fn with_private_segment(
        &self,
        program: &Program,
        trace: &Trace,
        parted: &Divergence,
    ) -> Option<Assumptions> {
        let at = parted.event.index();
        let inside = |addr: Addr| {
            program.open.segments.iter().find(|segment| {
                let offset = addr.0.wrapping_sub(segment.addr.0);
                offset < segment.size.0 && (segment.born..=segment.died).contains(&at)
            })
        };
        let placed = |side: &Side| match side {
            Side::Served(addr) | Side::Driver { addr: Some(addr), .. } => Some(*addr),
            _ => None,
        };
        // The segment made for the request that parted, if one was.
        let grown = trace.events[at.min(trace.events.len())..]
            .iter()
            .take_while(|event| event.action.is_driver_call());
        let grown = grown.filter(|event| matches!(event.action, Action::SegmentAlloc | Action::SegmentMap));
        let candidates = [placed(&parted.recorded), placed(&parted.replayed)].into_iter().flatten();
        let segment = candidates
            .chain(grown.map(|event| event.addr))
            .find_map(|addr| inside(addr).filter(|segment| !self.private.contains_key(&segment.born)))?;
        // Pools are given back as a whole: what dies together on one stream is taken as one.
        let dies_with = |other: &&super::UnownedSegment| {
            other.stream == segment.stream
                && self.private.contains_key(&other.born)
                && same_release(trace, other.died, segment.died)
        };
        let pool = match program.open.segments.iter().find(dies_with) {
            Some(other) => self.private[&other.born],
            None => self.private.values().max().map_or(0, |last| last + 1),
        };
        let mut revised = self.clone();
        revised.private.insert(segment.born, pool);
        Some(revised)
    }
}

/// Whether two events belong to one run of driver calls.
fn same_release(trace: &Trace, a: usize, b: usize) -> bool {
    let (low, high) = (a.min(b), a.max(b));
    trace.events.get(low..=high).is_some_and(|run| run.iter().all(|event| event.action.is_driver_call()))
}
