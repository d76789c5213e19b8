//! A recording understood: the program it ran, the settings and the limit it ran under, and how exactly a replay
//! under those reproduces it. Everything that follows, follows from this.

use std::sync::Arc;

use oomph_trace::sidecar::Card;
use oomph_trace::{Action, Bytes, EventIdx, Snapshot, Trace};

use crate::counters::Peaks;
use crate::fidelity::{self, Fidelity};
use crate::program::{Assumptions, OpKind, Program, Refusal};
use crate::replay::{Setup, Start};
use crate::stated;
use crate::torch::block::State;
use crate::torch::options::Options;
use crate::torch::profile::{Profile, Version};
use crate::torch::rounding;

/// Events replayed in all to find a better reading of one recording.
const REVISED_EVENTS: usize = 8_000_000;

/// What the user knows better than the snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Known {
    /// The version of PyTorch.
    pub version: Option<Version>,
    /// The memory limit of the run.
    pub limit: Option<Bytes>,
}

/// How the limit of [`Recording::setup`] was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitSource {
    /// Nothing was refused, so nothing is known of one.
    None,
    /// The user said it.
    Given,
    /// The recorder wrote it down: the share of the card that was set.
    Recorded,
    /// From what was granted and refused.
    Refusals,
    /// From when garbage collection ran.
    GarbageCollection,
}

/// One device's recording. Those of one file share its snapshot.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The file.
    pub snapshot: Arc<Snapshot>,
    /// Which of the snapshot's traces is the device's.
    place: usize,
    /// What the job did.
    pub program: Program,
    /// The allocator it ran on.
    pub setup: Setup,
    /// How the limit was found.
    pub limit_source: LimitSource,
    /// How exactly a replay on that allocator reproduces it.
    pub fidelity: Fidelity,
    /// The peaks of the recording.
    pub peaks: Peaks,
}

impl Recording {
    /// The recordings of a file, one for each GPU. Host memory (PyTorch 2.14) has traces too, which are left out: the
    /// CUDA caching allocator does not manage it.
    pub fn all(snapshot: impl Into<Arc<Snapshot>>, known: Known) -> Vec<Recording> {
        let snapshot = snapshot.into();
        let gpus = (0..snapshot.traces.len()).filter(|place| snapshot.traces[*place].device >= 0);
        gpus.map(|place| Recording::understand(Arc::clone(&snapshot), place, known)).collect()
    }

    /// Reads the program out of the snapshot's trace at `place`, and finds the limit under which a replay is exact.
    ///
    /// What the user knows comes first, then what oomph's recorder wrote down, then what the events imply.
    ///
    /// # Panics
    /// If the snapshot has no trace there.
    pub fn understand(snapshot: impl Into<Arc<Snapshot>>, place: usize, known: Known) -> Recording {
        let snapshot = snapshot.into();
        let trace = &snapshot.traces[place];
        let version = known.version.or_else(|| stated::version(&snapshot));
        let profile = Profile::of(version.unwrap_or_else(|| Version::inferred_from(&snapshot.fields)));
        let mut options = match &snapshot.settings {
            Some(found) => Options::recorded(found, &profile),
            None => stated::options(&snapshot, &profile).unwrap_or_default(),
        };
        if snapshot.settings.is_none() {
            options.expandable_segments = trace.segments.iter().any(|segment| segment.expandable)
                || trace.events.iter().any(|event| event.action == Action::SegmentMap);
        }
        let base = Setup { profile, options, limit: None, capacity: None };
        let Reading { program, setup, limit_source, fidelity } = read(&snapshot, trace, &base, known.limit);
        let peaks = match fidelity.divergence {
            None => fidelity.replayed.peaks,
            Some(_) => estimated_peaks(trace, &program, &setup),
        };
        Recording { snapshot, place, program, setup, limit_source, fidelity, peaks }
    }

    /// The same trace, understood in the light of something else that is known of it.
    pub fn understood_again(self, known: Known) -> Recording {
        Recording::understand(self.snapshot, self.place, known)
    }

    /// The device's part of the snapshot.
    pub fn trace(&self) -> &Trace {
        &self.snapshot.traces[self.place]
    }

    /// Whether a replay under the recorded settings reproduces everything that was recorded.
    pub fn is_exact(&self) -> bool {
        self.fidelity.divergence.is_none()
    }

    /// How a replay under `options` starts: only under the recorded ones what was held before stays where it was.
    pub fn start_for(&self, options: &Options) -> Start {
        if *options == self.setup.options { Start::AsRecorded } else { Start::MadeAgain }
    }

    /// What can be held at most, as far as it is known: the limit or the card's capacity.
    pub fn ceiling(&self) -> Option<Bytes> {
        match (self.setup.limit, self.setup.capacity) {
            (Some(limit), Some(capacity)) => Some(limit.min(capacity)),
            (limit, capacity) => limit.or(capacity),
        }
    }

    /// The ceiling in words: an inferred one is known only between two bounds.
    pub fn ceiling_text(&self) -> String {
        let Some(ceiling) = self.ceiling() else { return "no known limit".to_owned() };
        let inferred = matches!(self.limit_source, LimitSource::Refusals | LimitSource::GarbageCollection);
        if inferred && self.setup.capacity.is_none() {
            format!("about {ceiling}")
        } else {
            ceiling.to_string()
        }
    }
}

/// One way to read a recording, and how exact its replay is.
struct Reading {
    program: Program,
    setup: Setup,
    limit_source: LimitSource,
    fidelity: Fidelity,
}

/// Revises the reading of the recording as long as a replay of it parts later each time, or nowhere.
fn read(snapshot: &Snapshot, trace: &Trace, base: &Setup, given: Option<Bytes>) -> Reading {
    let mut assumptions = Assumptions::default();
    let mut reading = read_under(snapshot, trace, base, given, &assumptions);
    // Each revision costs a replay; on a long recording a few must do.
    let mut replays = (REVISED_EVENTS / trace.events.len().max(1)).clamp(8, 600);
    while let Some(parted) = reading.fidelity.divergence.clone() {
        let revisions = assumptions.revised(&reading.program, trace, &reading.setup, &parted);
        let better = revisions.into_iter().take(replays).find_map(|revised| {
            replays -= 1;
            let next = read_under(snapshot, trace, base, given, &revised);
            let parts_at = next.fidelity.divergence.as_ref().map(|next| next.event);
            // Where two segments are in doubt at one event, settling one is progress even if the event stays.
            let settles = revised.settled() > assumptions.settled();
            let progress = parts_at.is_none_or(|at| at > parted.event || at == parted.event && settles);
            progress.then_some((revised, next))
        });
        let Some(better) = better else { break };
        (assumptions, reading) = better;
    }
    reading
}

fn read_under(
    snapshot: &Snapshot,
    trace: &Trace,
    base: &Setup,
    given: Option<Bytes>,
    assumptions: &Assumptions,
) -> Reading {
    let program = Program::of(snapshot, trace, &base.options, &base.profile, assumptions);
    let card = stated::card(snapshot, trace.device);
    let (setup, limit_source, fidelity) = find_limit(trace, &program, base, given, card);
    Reading { program, setup, limit_source, fidelity }
}

/// The setup that reproduces the recording, or the likeliest one.
fn find_limit(
    trace: &Trace,
    program: &Program,
    base: &Setup,
    given: Option<Bytes>,
    card: Option<&Card>,
) -> (Setup, LimitSource, Fidelity) {
    let with_limit = |limit| Setup { limit, ..base.clone() };
    let checked = |setup: Setup, source| {
        let fidelity = fidelity::check(trace, program, &setup);
        (setup, source, fidelity)
    };
    if given.is_some() {
        return checked(with_limit(given), LimitSource::Given);
    }
    let taken = program.limit.taken();
    let capacity = Setup { capacity: taken, ..base.clone() };
    let mut tries = Vec::new();
    if let Some(limit) = stated::limit(card) {
        // A share of the card leaves more than the card has, where others fill it.
        tries.push((with_limit(Some(limit)), LimitSource::Recorded));
        if taken.is_some_and(|taken| taken < limit) {
            tries.push((Setup { limit: Some(limit), ..capacity.clone() }, LimitSource::Recorded));
        }
    }
    tries.extend(match program.limit.refusal {
        None => vec![(base.clone(), LimitSource::None)],
        // Without a share of the card only the card itself can refuse.
        Some(Refusal::Unnamed) if card.is_some_and(|card| card.limit.is_none()) => {
            vec![(capacity, LimitSource::Refusals), (with_limit(taken), LimitSource::Refusals)]
        }
        Some(Refusal::Device { .. }) => {
            vec![(capacity, LimitSource::Refusals), (with_limit(taken), LimitSource::Refusals)]
        }
        Some(Refusal::Limit | Refusal::Unnamed) => {
            vec![(with_limit(taken), LimitSource::Refusals), (capacity, LimitSource::Refusals)]
        }
    });
    let mut first = None;
    for (setup, source) in tries {
        let found = checked(setup, source);
        if found.2.divergence.is_none() {
            return found;
        }
        first.get_or_insert(found);
    }
    if base.options.garbage_collection_threshold > 0.0
        && let Some(found) = search_limit(trace, program, base)
    {
        return found;
    }
    first.expect("at least one setup is tried")
}

/// Halves the interval of possible limits: where a replay parts from the recording tells on which side it lies.
fn search_limit(trace: &Trace, program: &Program, base: &Setup) -> Option<(Setup, LimitSource, Fidelity)> {
    let mut low = program.limit.at_least.0;
    // Collection starts at threshold × limit, and it did start while no more than `at_least` was held.
    let collects_below = ((low as f64 / base.options.garbage_collection_threshold) as u64).saturating_add(1);
    let mut high = program.limit.below.map_or(collects_below, |below| below.0.min(collects_below));
    while low < high {
        let middle = low + (high - low) / 2;
        let setup = Setup { limit: Some(Bytes(middle)), ..base.clone() };
        let fidelity = fidelity::check(trace, program, &setup);
        match fidelity.divergence.as_ref().map(fidelity::Divergence::wants_higher_limit) {
            None => return Some((setup, LimitSource::GarbageCollection, fidelity)),
            Some(Some(true)) => low = middle + 1,
            Some(Some(false)) => high = middle,
            Some(None) => return None,
        }
    }
    None
}

/// The recorded peaks where no exact replay gives them: requested and reserved are recorded as they are, the others
/// lack what was lost by not splitting.
fn estimated_peaks(trace: &Trace, program: &Program, setup: &Setup) -> Peaks {
    let round = |size| rounding::block_size(size, &setup.options.roundup_power2_divisions, &setup.profile);
    let mut peaks = Peaks::default();
    let mut sizes = vec![(Bytes::ZERO, Bytes::ZERO); program.allocs as usize];
    let (mut requested, mut allocated, mut active) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
    let early =
        program.initial.iter().flat_map(|seed| &seed.blocks).filter(|block| block.state != State::Free);
    for (alloc, block) in program.initial_allocs.iter().zip(early) {
        sizes[alloc.0 as usize] = (block.requested, block.size);
        requested += block.requested;
        active += block.size;
        if block.state == State::Allocated {
            allocated += block.size;
        }
    }
    let mut reserved: Bytes = program.initial.iter().map(crate::torch::SeedSegment::size).sum();
    let mut ops = program.ops.iter().peekable();
    for (index, event) in trace.events.iter().enumerate() {
        let at = EventIdx(index as u32);
        match event.action {
            Action::SegmentAlloc | Action::SegmentMap => reserved += event.size,
            Action::SegmentFree | Action::SegmentUnmap => reserved = reserved.saturating_sub(event.size),
            _ => {}
        }
        while let Some(op) = ops.next_if(|op| op.event <= at) {
            let (asked, size) = &mut sizes[op.alloc.0 as usize];
            match op.kind {
                OpKind::Alloc => {
                    (*asked, *size) = (op.size, round(op.size));
                    requested += *asked;
                    allocated += *size;
                    active += *size;
                }
                OpKind::Free => {
                    requested = requested.saturating_sub(*asked);
                    allocated = allocated.saturating_sub(*size);
                    active = active.saturating_sub(*size);
                }
                OpKind::FreeLater => allocated = allocated.saturating_sub(*size),
                OpKind::Complete => {
                    requested = requested.saturating_sub(*asked);
                    active = active.saturating_sub(*size);
                }
                OpKind::AllocFailed | OpKind::EmptyCache | OpKind::Abandon | OpKind::EmptyPool => {}
            }
        }
        peaks.requested.raise(requested, at);
        peaks.allocated.raise(allocated, at);
        peaks.active.raise(active, at);
        peaks.reserved.raise(reserved, at);
    }
    peaks
}
