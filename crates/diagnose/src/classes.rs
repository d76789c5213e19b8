//! What memory in use was for: weights, gradients, optimizer state, and what the phases made.
//!
//! The recorder samples what storages are for. A sample holds for the whole life of the allocation that is alive at
//! its address at its time; where a step was not sampled, that of its counterpart in another step, as for lines
//! ([`borrow`]). What no sample names is told by the phase that made it, and by whether it outlives it.

use oomph_engine::program::{AllocId, Allocation, Change};
use oomph_engine::recording::Recording;
use oomph_engine::replay::Run;
use oomph_engine::simulated::SimulatedDevice;
use oomph_trace::sidecar::{ClassSample, StorageClass};
use oomph_trace::{Addr, Bytes, named};
use rustc_hash::FxHashMap;

use crate::borrow::{self, Passage, Request};
use crate::phase::Phase;
use crate::phases::Phases;

named! {
    /// What memory is for.
    Class {
        /// Parameters of modules.
        Weights = "weights",
        /// Their gradients.
        Gradients = "gradients",
        /// What optimizers keep from step to step.
        Optimizer = "optimizer_state",
        /// Buffers of modules.
        Buffers = "buffers",
        /// Scratch memory of libraries.
        Workspaces = "workspaces",
        /// Made in a forward or backward pass, or in evaluation.
        Activations = "activations",
        /// Made by an optimizer that does not keep it.
        OptimizerTemporaries = "optimizer_temporaries",
        /// Nothing tells.
        Other = "other",
        /// What was not asked for: rounding, and blocks that were not split.
        Rounding = "rounding",
    }
}

impl Class {
    /// The words for it.
    pub fn words(self) -> String {
        self.name().replace('_', " ")
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
#[derive(Debug)]
pub struct Classes {
    /// By id.
    of: Vec<Class>,
}

impl Classes {
    /// `None` where the recording has neither marks nor samples.
    pub fn find(recording: &Recording, phases: &Phases) -> Option<Classes> {
        let samples = samples(recording);
        if samples.is_empty() && phases.stretches().is_empty() {
            return None;
        }
        let sampled: Vec<Option<Class>> =
            sampled(recording).into_iter().map(|sample| sample.map(|found| Class::of(found.class))).collect();
        let has_model = phases.trains() || !samples.is_empty();
        let has_weights = samples.iter().any(|entry| entry.class == StorageClass::Weights);
        let mut of: Vec<Class> = sampled.iter().map(|class| class.unwrap_or(Class::Other)).collect();
        for (born, id, allocation) in recording.program.births() {
            let Some(index) = phases.index_at(born).filter(|_| sampled[id.index()].is_none()) else {
                continue;
            };
            let lives_on = || outlives_next(recording, phases, allocation, index);
            of[id.index()] = match phases.stretches()[index].phase {
                // What outlives the next phase is what the optimizer keeps.
                Phase::Optimizer if lives_on() => Class::Optimizer,
                Phase::Optimizer => Class::OptimizerTemporaries,
                // A script without modules and without training may make anything in what counts as forward, and
                // before the first step it makes its weights.
                Phase::Forward | Phase::Backward | Phase::Evaluation if !has_model => Class::Other,
                Phase::Forward if !has_weights && index == 0 && lives_on() => Class::Other,
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
    pub fn of(&self, id: AllocId) -> Class {
        self.of[id.index()]
    }

    /// What is in use at a moment of a replay, by class.
    pub(crate) fn at(&self, run: &Run<'_, SimulatedDevice>) -> ByClass {
        let mut sums = [Bytes::ZERO; Class::ALL.len()];
        let mut left = run.torch().counters().active;
        for (id, _, block) in run.live() {
            // Absurd sizes saturate; the parts must add up all the same.
            let asked = block.requested.min(left);
            sums[self.of(id) as usize] += asked;
            left -= asked;
        }
        sums[Class::Rounding as usize] += left;
        Class::ALL.iter().copied().zip(sums).filter(|(_, bytes)| *bytes > Bytes::ZERO).collect()
    }
}

/// The samples of a recording's device, in order of their times.
fn samples(recording: &Recording) -> Vec<ClassSample> {
    let on_device = |entry: &&ClassSample| i64::from(entry.device) == i64::from(recording.trace().device);
    let noted = recording.snapshot.sidecar.iter().flat_map(|sidecar| &sidecar.classes);
    let mut samples: Vec<ClassSample> = noted.filter(on_device).copied().collect();
    samples.sort_by_key(|entry| entry.time_us);
    samples
}

/// The sample of each allocation that was alive at its address at its time, by id; of several the last counts.
pub(crate) fn sampled(recording: &Recording) -> Vec<Option<ClassSample>> {
    let (program, events) = (&recording.program, &recording.trace().events);
    let mut found = vec![None; program.allocations.len()];
    let numbered = (0..).map(AllocId).zip(&program.allocations);
    let early = numbered.filter(|(_, allocation)| allocation.born().is_none());
    let mut live: FxHashMap<Addr, AllocId> = early.map(|(id, allocation)| (allocation.addr, id)).collect();
    let mut changes = program.changes().peekable();
    let mut time = 0;
    for sample in samples(recording) {
        while let Some((_, change, id)) = changes.next_if(|(event, ..)| {
            time = time.max(events[event.index()].time_us);
            time <= sample.time_us
        }) {
            let addr = program.allocations[id.index()].addr;
            match change {
                Change::Birth => live.insert(addr, id),
                Change::Death => live.remove(&addr),
            };
        }
        if let Some(id) = live.get(&sample.addr)
            && sample.bytes <= program.allocations[id.index()].size
        {
            found[id.index()] = Some(sample);
        }
    }
    found
}

/// Whether an allocation of the stretch of this place outlives the next one too. Where the recording does not reach so
/// far: whether it is alive at its end, or at the failure that cut the next one short.
fn outlives_next(recording: &Recording, phases: &Phases, allocation: &Allocation, index: usize) -> bool {
    let stretches = phases.stretches();
    let failure = recording.program.failures.first().map(|failed| failed.event);
    match (stretches.get(index + 1), stretches.get(index + 2)) {
        (None, _) => false,
        (Some(_), Some(later)) => allocation.freed().is_none_or(|freed| freed >= later.from),
        (Some(next), None) => allocation
            .freed()
            .is_none_or(|freed| failure.is_some_and(|failure| failure >= next.from && freed > failure)),
    }
}

/// Gradients are made anew in every step and gone before most samples: a step without any has those of its
/// counterpart.
fn lend_gradients(recording: &Recording, phases: &Phases, sampled: &[Option<Class>], of: &mut [Class]) {
    let is_gradient =
        |request: &Request| request.alloc.is_some_and(|id| sampled[id.index()] == Some(Class::Gradients));
    let has = |passage: &Passage| passage.requests.iter().any(is_gradient);
    let passages = borrow::passages(recording, phases);
    for pair in borrow::pairs(&passages, has, |passage| !has(passage)) {
        if let Some(id) = pair.borrower.alloc.filter(|_| is_gradient(&pair.lender))
            && of[id.index()] == Class::Activations
        {
            of[id.index()] = Class::Gradients;
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
        let recording = Recording::understand(snapshot.clone(), 0, Known::default());
        Classes::find(&recording, &Phases::of(&recording)).map(|found| found.of).unwrap_or_default()
    }

    #[test]
    fn what_an_optimizer_keeps_is_its_state_without_any_sample() {
        let mut snapshot = Job { events: 30_000, sampled: Some(7), ..Job::default() }.record();
        let of = |snapshot: &Snapshot| {
            let recording = Recording::understand(snapshot.clone(), 0, Known::default());
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
