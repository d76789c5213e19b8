//! A recording understood: the program it ran, the settings and the limit it ran under, and how exactly a replay
//! under those reproduces it.

use std::sync::Arc;

use oomph_trace::{Action, Bytes, EventIdx, Snapshot, StackId, Trace};

use crate::counters::{Counters, Peaks};
use crate::fidelity::Fidelity;
use crate::program::{Allocation, OpKind, Program, Survey, shrinks};
use crate::reading::{Limit, Reader, Reading};
use crate::replay::{Run, Setup, Start};
use crate::simulated::SimulatedDevice;
use crate::torch::block::State;
use crate::torch::options::Options;
use crate::torch::profile::{Profile, Version};
use crate::torch::{SeedSegment, variables};

pub use crate::reading::LimitSource;

/// What the user knows better than the snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Known {
    /// The version of PyTorch.
    pub version: Option<Version>,
    /// The memory limit of the run.
    pub limit: Option<Bytes>,
}

/// One device's recording. Those of one file share its snapshot.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The file.
    pub snapshot: Arc<Snapshot>,
    /// Which of the snapshot's traces is the device's.
    place: usize,
    /// What the job did.
    pub program: Arc<Program>,
    /// The allocator it ran on.
    pub setup: Setup,
    /// How the limit was found.
    pub limit_source: Option<LimitSource>,
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
        Draft::read(snapshot, place, known).check()
    }

    /// Reads the same trace again, with something else known about it.
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

    /// The stack that asked for an allocation. What was there before the first event has one only if it is still there
    /// at the end.
    pub fn stack(&self, allocation: &Allocation) -> Option<StackId> {
        let trace = self.trace();
        if let Some(event) = allocation.born() {
            return trace.events.get(event.index())?.stack;
        }
        let after = trace.segments.partition_point(|segment| segment.addr <= allocation.addr);
        let blocks = &trace.segments.get(after.checked_sub(1)?)?.blocks;
        let place = blocks.binary_search_by_key(&allocation.addr, |block| block.addr).ok()?;
        blocks[place].stack.filter(|_| allocation.died().is_none())
    }

    /// A replay under the recorded settings, before the first operation.
    pub fn run(&self) -> Run<'_, SimulatedDevice> {
        Run::simulated(&self.program, &self.setup, Start::AsRecorded)
    }

    /// How a replay under `options` starts: only under the recorded ones what was held before stays where it was.
    pub fn start_for(&self, options: &Options) -> Start {
        if *options == self.setup.options { Start::AsRecorded } else { Start::MadeAgain }
    }

    /// What can be held at most, as far as it is known: the limit or the card's capacity.
    pub fn ceiling(&self) -> Option<Bytes> {
        self.setup.limit.into_iter().chain(self.setup.capacity).min()
    }

    /// The ceiling in words: an inferred one is known only between two bounds.
    pub fn ceiling_text(&self) -> String {
        let Some(ceiling) = self.ceiling() else { return "no known limit".to_owned() };
        let inferred =
            matches!(self.limit_source, Some(LimitSource::Refusals | LimitSource::GarbageCollection));
        if inferred && self.setup.capacity.is_none() {
            format!("about {ceiling}")
        } else {
            ceiling.to_string()
        }
    }
}

/// A recording of which the program is read, and nothing is replayed yet.
#[derive(Clone, Debug)]
pub struct Draft {
    snapshot: Arc<Snapshot>,
    place: usize,
    given: Option<Bytes>,
    base: Setup,
    survey: Survey,
    program: Arc<Program>,
}

impl Draft {
    /// Reads the program out of the snapshot's trace at `place`.
    ///
    /// # Panics
    /// If the snapshot has no trace there.
    pub fn read(snapshot: impl Into<Arc<Snapshot>>, place: usize, known: Known) -> Draft {
        let snapshot = snapshot.into();
        let trace = &snapshot.traces[place];
        let survey = Survey::of(trace);
        let version = known.version.or_else(|| stated_version(&snapshot));
        let profile = Profile::of(version.unwrap_or_else(|| Version::inferred_from(&snapshot.fields)));
        let mut options = match &snapshot.settings {
            Some(found) => Options::recorded(found, &profile),
            None => stated_options(&snapshot, &profile).unwrap_or_default(),
        };
        if snapshot.settings.is_none() {
            options.expandable_segments = trace.segments.iter().any(|segment| segment.expandable)
                || survey.driver(trace).any(|(_, event)| event.action == Action::SegmentMap);
        }
        let base = Setup { profile, options, limit: None, capacity: None };
        let given = known.limit;
        let program = Arc::new(reader(&snapshot, place, &survey, given, &base).first());
        Draft { snapshot, place, given, base, survey, program }
    }

    /// What this most likely is. Who has use for a replay may begin with it before the check has ended.
    pub fn likely(&self) -> Likely {
        let setups = self.reader().setups(&self.program);
        let (setup, _) = setups.into_iter().next().expect("at least one setup is tried");
        let events = self.snapshot.traces[self.place].events.len();
        Likely { program: Arc::clone(&self.program), setup, events }
    }

    /// Finds the limit under which a replay is exact, or the reading that is nearest to it.
    pub fn check(self) -> Recording {
        let reading = self.reader().revised(Arc::clone(&self.program));
        let Reading { program, limit: Limit { setup, source, fidelity } } = reading;
        let Draft { snapshot, place, .. } = self;
        let peaks = match fidelity.divergence {
            None => fidelity.replayed.peaks,
            Some(_) => estimated_peaks(&snapshot.traces[place], &program, &setup),
        };
        Recording { snapshot, place, program, setup, limit_source: source, fidelity, peaks }
    }

    fn reader(&self) -> Reader<'_> {
        reader(&self.snapshot, self.place, &self.survey, self.given, &self.base)
    }
}

/// What a recording will be if its first reading is exact.
#[derive(Clone, Debug)]
pub struct Likely {
    /// What the job did.
    pub program: Arc<Program>,
    /// The allocator it ran on.
    pub setup: Setup,
    /// How many events the recording has.
    pub events: usize,
}

impl Likely {
    /// Whether the recording is what was likely.
    pub fn is(&self, recording: &Recording) -> bool {
        let is_same = Arc::ptr_eq(&self.program, &recording.program) && self.setup == recording.setup;
        is_same && recording.is_exact()
    }
}

fn reader<'a>(
    snapshot: &'a Snapshot,
    place: usize,
    survey: &'a Survey,
    given: Option<Bytes>,
    base: &'a Setup,
) -> Reader<'a> {
    let trace = &snapshot.traces[place];
    let card = snapshot.sidecar.as_ref().and_then(|sidecar| sidecar.card(trace.device));
    Reader { snapshot, trace, survey, base, given, card }
}

/// The version of PyTorch that oomph's recorder wrote down, if it is one whose allocator is modelled.
fn stated_version(snapshot: &Snapshot) -> Option<Version> {
    snapshot.sidecar.as_ref()?.versions.torch.as_deref()?.parse().ok()
}

/// The settings in the environment that oomph's recorder wrote down, for snapshots that do not state what took effect.
fn stated_options(snapshot: &Snapshot, profile: &Profile) -> Option<Options> {
    let set = &snapshot.sidecar.as_ref()?.settings;
    let (cuda, general) = (set.cuda_alloc_conf.as_deref(), set.alloc_conf.as_deref());
    let (_, conf) = variables::in_force(cuda, general, Some(profile.version));
    conf.map(|conf| Options::as_far_as_known(conf, profile))
}

/// The peaks of a recording that no replay reproduces exactly: requested and reserved are recorded as they are, the
/// others are too low by what was lost to not splitting.
fn estimated_peaks(trace: &Trace, program: &Program, setup: &Setup) -> Peaks {
    let mut now = Counters::default();
    // What was asked for and the block of each allocation. Those from before the start that lie in no segment count as
    // nothing.
    let mut sizes: Vec<(Bytes, Bytes)> = vec![Default::default(); program.allocations.len()];
    for (_, id, allocation) in program.births() {
        sizes[id.index()] = (allocation.size, setup.options.block_size(allocation.size, &setup.profile));
    }
    let early =
        program.initial.iter().flat_map(|seed| &seed.blocks).filter(|block| block.state != State::Free);
    for (id, block) in program.initial_allocs.iter().zip(early) {
        sizes[id.index()] = (block.requested, block.size);
        now.requested += block.requested;
        now.active += block.size;
        if block.state == State::Allocated {
            now.allocated += block.size;
        }
    }
    now.reserved = program.initial.iter().map(SeedSegment::size).sum();
    let mut peaks = Peaks::default();
    let mut ops = program.ops.iter().peekable();
    for (at, event) in (0..).map(EventIdx).zip(&trace.events) {
        if shrinks(event.action) {
            now.reserved = now.reserved.saturating_sub(event.size);
        } else if event.action.is_driver_call() {
            now.reserved += event.size;
        }
        while let Some(op) = ops.next_if(|op| op.event <= at) {
            match op.kind {
                OpKind::Alloc(id) => {
                    let (requested, size) = sizes[id.index()];
                    now.requested += requested;
                    now.allocated += size;
                    now.active += size;
                }
                OpKind::Free(id) | OpKind::FreeLater(id) => {
                    now.allocated = now.allocated.saturating_sub(sizes[id.index()].1);
                }
                _ => {}
            }
            if let OpKind::Free(id) | OpKind::Complete(id) = op.kind {
                let (requested, size) = sizes[id.index()];
                now.requested = now.requested.saturating_sub(requested);
                now.active = now.active.saturating_sub(size);
            }
        }
        peaks.raise(&now, at);
    }
    peaks
}
