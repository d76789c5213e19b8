//! What memory in use was for: weights, gradients, optimizer state, and what the phases made.
//!
//! The recorder samples what storages are for. A sample holds for the whole life of the allocation that is alive at
//! its address at its time; where a step was not sampled, that of its counterpart in another step, as for lines
//! ([`borrow`]). What no sample names is told by the phase that made it, and by whether it outlives it.

use oomph_engine::counters::Counters;
use oomph_engine::program::{AllocId, OpKind};
use oomph_engine::recording::Recording;
use oomph_engine::replay::Run;
use oomph_engine::simulated::SimulatedDevice;
use oomph_engine::torch::block::State;
use oomph_trace::sidecar::{Classed, StorageClass};
use oomph_trace::{Addr, Bytes, EventIdx};
use rustc_hash::FxHashMap;

use crate::borrow;
use crate::phase::Phase;
use crate::phases::Phases;

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Parameters of modules.
    Weights,
    /// Their gradients.
    Gradients,
    /// What optimizers keep from step to step.
    Optimizer,
    /// Buffers of modules.
    Buffers,
    /// Scratch memory of libraries.
    Workspaces,
    /// Made in a forward or backward pass, or in evaluation.
    Activations,
    /// Made by an optimizer that does not keep it.
    OptimizerTemporaries,
    /// Nothing tells.
    Other,
    /// What was not asked for: rounding, and blocks that were not split.
    Rounding,
}

impl Class {
    /// Every one, in the order they are shown.
    pub const ALL: [Class; 9] = [
        Class::Weights,
        Class::Gradients,
        Class::Optimizer,
        Class::Buffers,
        Class::Workspaces,
        Class::Activations,
        Class::OptimizerTemporaries,
        Class::Other,
        Class::Rounding,
    ];

    /// The words for it.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Weights => "weights",
            Class::Gradients => "gradients",
            Class::Optimizer => "optimizer state",
            Class::Buffers => "buffers",
            Class::Workspaces => "workspaces",
            Class::Activations => "activations",
            Class::OptimizerTemporaries => "optimizer temporaries",
            Class::Other => "other",
            Class::Rounding => "rounding",
        }
    }

    const fn of(class: StorageClass) -> Class {
        match class {
            StorageClass::Weights => Class::Weights,
            StorageClass::Gradients => Class::Gradients,
            StorageClass::Optimizer => Class::Optimizer,
            StorageClass::Buffers => Class::Buffers,
            StorageClass::Workspaces => Class::Workspaces,
        }
    }
}

/// The bytes of each class at a moment, in the order of [`Class::ALL`]; they add up to what was active.
pub type ByClass = Vec<(Class, Bytes)>;

/// The class of each allocation of a recording.
pub(crate) struct Classes {
    of: Vec<Class>,
}

impl Classes {
    /// `None` where the recording has neither marks nor samples.
    pub(crate) fn find(recording: &Recording<'_>, phases: &Phases) -> Option<Classes> {
        let sidecar = recording.snapshot.sidecar.as_ref()?;
        let samples: Vec<Classed> = {
            let on_device = |entry: &&Classed| i64::from(entry.device) == i64::from(recording.trace.device);
            let mut samples: Vec<Classed> = sidecar.classes.iter().filter(on_device).copied().collect();
            samples.sort_by_key(|entry| entry.time_us);
            samples
        };
        if samples.is_empty() && phases.stretches().is_empty() {
            return None;
        }
        let sampled = sampled(recording, &samples);
        let lives = Lives::of(recording, phases);
        let has_model = phases.trains() || !samples.is_empty();
        let has_weights = samples.iter().any(|entry| entry.class == StorageClass::Weights);
        let mut of: Vec<Class> = sampled.iter().map(|class| class.unwrap_or(Class::Other)).collect();
        for op in recording.program.ops.iter().filter(|op| op.kind == OpKind::Alloc) {
            let alloc = op.alloc.0 as usize;
            let Some(index) = phases.index_at(op.event).filter(|_| sampled[alloc].is_none()) else {
                continue;
            };
            of[alloc] = match phases.stretches()[index].phase {
                // What outlives the next phase is what the optimizer keeps.
                Phase::Optimizer if lives.on(alloc, index) => Class::Optimizer,
                Phase::Optimizer => Class::OptimizerTemporaries,
                // A script without modules and without training may make anything in what counts as forward, and
                // before the first step it makes its weights.
                Phase::Forward | Phase::Backward | Phase::Evaluation if !has_model => Class::Other,
                Phase::Forward if !has_weights && index == 0 && lives.on(alloc, index) => Class::Other,
                Phase::Forward | Phase::Backward | Phase::Evaluation => Class::Activations,
                // No recorder marks these.
                Phase::CheckpointLoad | Phase::CheckpointSave | Phase::FirstStep | Phase::DataLoading => {
                    Class::Other
                }
            };
        }
        lend_gradients(recording, phases, &sampled, &mut of);
        Some(Classes { of })
    }

    /// What an allocation was for.
    pub(crate) fn class(&self, alloc: usize) -> Class {
        self.of.get(alloc).copied().unwrap_or(Class::Other)
    }

    /// What is in use at a moment of a replay, by class.
    pub(crate) fn at(&self, run: &Run<'_, SimulatedDevice>) -> ByClass {
        let mut sums: FxHashMap<Class, Bytes> = FxHashMap::default();
        let mut add = |class, bytes| *sums.entry(class).or_insert(Bytes::ZERO) += bytes;
        let counters: &Counters = run.torch().counters();
        let mut left = counters.active;
        for (block, class) in run.blocks().iter().zip(&self.of) {
            let Some(block) = block.map(|id| run.torch().block(id)) else { continue };
            if matches!(block.state, State::Allocated | State::PendingFree) {
                // Absurd sizes saturate; the parts must add up all the same.
                let asked = block.requested.min(left);
                add(*class, asked);
                left = left.saturating_sub(asked);
            }
        }
        add(Class::Rounding, left);
        let found = Class::ALL.into_iter().filter_map(|class| Some((class, *sums.get(&class)?)));
        found.filter(|(_, bytes)| *bytes > Bytes::ZERO).collect()
    }
}

/// The class of each allocation that was alive at the address of a sample at its time; of several samples the last
/// counts. The samples are in order of their times.
fn sampled(recording: &Recording<'_>, samples: &[Classed]) -> Vec<Option<Class>> {
    let program = &recording.program;
    let events = &recording.trace.events;
    let mut classes = vec![None; program.allocs as usize];
    let mut live: FxHashMap<Addr, (AllocId, Bytes)> = FxHashMap::default();
    let mut early = program.initial_allocs.iter();
    for seed in &program.initial {
        let mut addr = seed.addr;
        for block in &seed.blocks {
            if block.state != State::Free
                && let Some(alloc) = early.next()
            {
                live.insert(addr, (*alloc, block.size));
            }
            addr = addr.offset(block.size);
        }
    }
    let mut at_address: Vec<Option<Addr>> = vec![None; program.allocs as usize];
    for (addr, (alloc, _)) in &live {
        at_address[alloc.0 as usize] = Some(*addr);
    }
    let mut ops = program.ops.iter().peekable();
    let mut time = 0;
    for sample in samples {
        while let Some(op) = ops.next_if(|op| {
            time = time.max(events[op.event.index()].time_us);
            time <= sample.time_us
        }) {
            let alloc = op.alloc.0 as usize;
            match op.kind {
                OpKind::Alloc => {
                    let addr = events[op.event.index()].addr;
                    at_address[alloc] = Some(addr);
                    live.insert(addr, (op.alloc, op.size));
                }
                OpKind::Free | OpKind::Complete => {
                    if let Some(addr) = at_address[alloc].take() {
                        live.remove(&addr);
                    }
                }
                OpKind::FreeLater
                | OpKind::AllocFailed
                | OpKind::EmptyCache
                | OpKind::Abandon
                | OpKind::EmptyPool => {}
            }
        }
        if let Some((alloc, size)) = live.get(&sample.addr)
            && sample.bytes <= *size
        {
            classes[alloc.0 as usize] = Some(Class::of(sample.class));
        }
    }
    classes
}

/// How long allocations live.
struct Lives<'a> {
    phases: &'a Phases,
    /// Where each is given back.
    died: Vec<Option<EventIdx>>,
    failure: Option<EventIdx>,
}

impl<'a> Lives<'a> {
    fn of(recording: &Recording<'_>, phases: &'a Phases) -> Lives<'a> {
        let mut died = vec![None; recording.program.allocs as usize];
        let mut failure = None;
        for op in &recording.program.ops {
            match op.kind {
                OpKind::Free | OpKind::FreeLater | OpKind::Complete => {
                    died[op.alloc.0 as usize].get_or_insert(op.event);
                }
                OpKind::AllocFailed => {
                    failure.get_or_insert(op.event);
                }
                OpKind::Alloc | OpKind::EmptyCache | OpKind::Abandon | OpKind::EmptyPool => {}
            }
        }
        Lives { phases, died, failure }
    }

    /// Whether an allocation of the stretch of this place outlives the next one too. Where the recording does not
    /// reach so far: whether it is alive at its end, or at the failure that cut the next one short.
    fn on(&self, alloc: usize, index: usize) -> bool {
        let died = self.died[alloc];
        let stretches = self.phases.stretches();
        match (stretches.get(index + 1), stretches.get(index + 2)) {
            (None, _) => false,
            (Some(_), Some(later)) => died.is_none_or(|died| died >= later.from),
            (Some(next), None) => died.is_none_or(|died| {
                self.failure.is_some_and(|failure| failure >= next.from && died > failure)
            }),
        }
    }
}

/// Gradients are made anew in every step and gone before most samples: a step without any has those of its
/// counterpart.
fn lend_gradients(recording: &Recording<'_>, phases: &Phases, sampled: &[Option<Class>], of: &mut [Class]) {
    let requests = recording.program.ops.iter().filter(|op| op.kind == OpKind::Alloc);
    let allocs: FxHashMap<_, _> = requests.map(|op| (op.event, op.alloc.0 as usize)).collect();
    let sample = |event| allocs.get(&event).and_then(|alloc| sampled[*alloc]);
    let runs = borrow::runs(recording, phases);
    let has = |run: &borrow::Run| {
        run.requests.iter().any(|request| sample(request.event) == Some(Class::Gradients))
    };
    for pair in borrow::pairs(&runs, has, |run| !has(run)) {
        if sample(pair.lender) == Some(Class::Gradients)
            && let Some(alloc) = allocs.get(&pair.borrower)
            && of[*alloc] == Class::Activations
        {
            of[*alloc] = Class::Gradients;
        }
    }
}

#[cfg(test)]
mod tests {
    use oomph_engine::recording::Known;
    use oomph_testkit::generate::Job;
    use oomph_trace::Snapshot;

    use super::*;

    fn classes(sampled: u64) -> Vec<Class> {
        let snapshot = Job { events: 30_000, sampled: Some(sampled), ..Job::default() }.record();
        let recording = Recording::understand(&snapshot, &snapshot.traces[0], Known::default());
        Classes::find(&recording, &Phases::of(&recording)).map(|found| found.of).unwrap_or_default()
    }

    #[test]
    fn what_an_optimizer_keeps_is_its_state_without_any_sample() {
        let mut snapshot = Job { events: 30_000, sampled: Some(7), ..Job::default() }.record();
        let of = |snapshot: &Snapshot| {
            let recording = Recording::understand(snapshot, &snapshot.traces[0], Known::default());
            Classes::find(&recording, &Phases::of(&recording)).map(|found| found.of).unwrap_or_default()
        };
        let whole = of(&snapshot);
        snapshot.sidecar.as_mut().map(|sidecar| sidecar.classes.clear()).unwrap_or_default();
        let bare = of(&snapshot);
        let optimizers = |of: &[Class]| -> Vec<Option<Class>> {
            let made = |class: &Class| matches!(class, Class::Optimizer | Class::OptimizerTemporaries);
            of.iter().map(|class| Some(*class).filter(made)).collect()
        };
        assert!(optimizers(&whole) == optimizers(&bare), "what optimizers made differs");
        assert_eq!(bare.iter().filter(|class| **class == Class::Optimizer).count(), 146);
    }

    #[test]
    fn steps_without_samples_have_the_classes_of_their_counterparts() {
        let (all, some) = (classes(1), classes(7));
        assert!(all == some, "the classes of some allocations differ");
        let count = |class| all.iter().filter(|found| **found == class).count();
        assert_eq!((count(Class::Weights), count(Class::Optimizer)), (73, 146));
        assert!(count(Class::Gradients).is_multiple_of(72) && count(Class::Gradients) > 10 * 72);
        assert_eq!(count(Class::Other), 0);
    }
}
