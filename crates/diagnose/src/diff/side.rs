//! One of the two recordings: its lines, what of it counts, and what its job needs.

use std::collections::BTreeSet;

use oomph_engine::program::{AllocId, Op, OpKind, Program};
use oomph_engine::recording::Recording;
use oomph_engine::replay::{self, OnFailure, Outcome, Setup, Start};
use oomph_trace::{Bytes, EventIdx};

use super::comparison::Where;
use super::matching::Asker;
use crate::phase::Phase;
use crate::phases::Phases;
use crate::place::{Line, PlaceId, Places};

/// What lines say, for as many as are known: the recording's own notes, or a file that is known to be as it was.
pub type Texts<'a> = dyn Fn(&Line) -> Option<String> + 'a;

/// Whose an allocation is: a line, by its place in the table of lines, or a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    Line(usize),
    Phase(Option<Phase>),
}

/// What a job asked for and had in use at its peak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AtPeak {
    pub(super) requested: Bytes,
    pub(super) event: EventIdx,
    /// What was in use.
    pub(super) live: Vec<AllocId>,
    /// A request that failed there, by its event and its size: it counts at this one moment.
    pub(super) failed: Option<(EventIdx, Bytes)>,
}

pub(super) struct Side<'a> {
    pub(super) recording: &'a Recording,
    pub(super) places: Places<'a>,
    pub(super) phases: Phases,
    /// The lines that asked for memory; the place of each in the table of places is one more.
    pub(super) askers: Vec<Asker>,
    /// Whose each allocation is, by id.
    sources: Vec<Source>,
}

impl<'a> Side<'a> {
    pub(super) fn new(recording: &'a Recording, texts: &Texts<'_>) -> Side<'a> {
        let mut side = Side {
            recording,
            places: Places::new(recording),
            phases: Phases::of(recording),
            askers: Vec::new(),
            sources: Vec::with_capacity(recording.program.allocations.len()),
        };
        for allocation in &recording.program.allocations {
            let place = side.places.of(side.places.stack_of(allocation));
            let source = side.source(place, allocation.born(), texts);
            side.sources.push(source);
            if let Source::Line(at) = source {
                let asker = &mut side.askers[at];
                asker.count += 1;
                asker.largest = asker.largest.max(allocation.size);
            }
        }
        for failed in &recording.program.failures {
            let place = side.places.of(side.places.stack(failed.event));
            side.source(place, Some(failed.event), texts);
        }
        side
    }

    /// The source of a place; a line that is new is noted.
    fn source(&mut self, place: PlaceId, event: Option<EventIdx>, texts: &Texts<'_>) -> Source {
        // Places are numbered as they are found, from 1.
        while self.askers.len() < place.0 as usize {
            let next = PlaceId(self.askers.len() as u32 + 1);
            let Some(found) = self.places.get(next) else { break };
            self.askers.push(Asker {
                line: found.line.clone(),
                text: texts(&found.line),
                within: found.within.clone(),
                count: 0,
                largest: Bytes::ZERO,
            });
        }
        match place.0.checked_sub(1) {
            Some(at) => Source::Line(at as usize),
            None => Source::Phase(event.and_then(|event| self.phases.phase_at(event))),
        }
    }

    /// Whose an allocation is.
    pub(super) fn source_of(&self, id: AllocId) -> Source {
        self.sources[id.index()]
    }

    /// Whose the request of an event is, that failed.
    pub(super) fn source_of_failure(&mut self, event: EventIdx) -> Source {
        let place = self.places.of(self.places.stack(event));
        self.source(place, Some(event), &|_| None)
    }

    /// The source in words.
    pub(super) fn place(&self, source: Source) -> Where {
        match source {
            Source::Line(at) => {
                let place = self.places.get(PlaceId(at as u32 + 1)).cloned();
                place.map_or(Where::Phase(None), Where::Line)
            }
            Source::Phase(phase) => Where::Phase(phase),
        }
    }

    /// Whether an allocation counts: what was there before the first event does only if it has a line.
    pub(super) fn counts(&self, id: AllocId) -> bool {
        let allocation = &self.recording.program.allocations[id.index()];
        allocation.born().is_some() || matches!(self.source_of(id), Source::Line(_))
    }

    /// What was there before the first event and does not count.
    pub(super) fn found_there(&self) -> impl Iterator<Item = AllocId> {
        self.recording.program.initial_allocs.iter().copied().filter(|id| !self.counts(*id))
    }

    /// The program of what counts and is not set aside, from an empty cache.
    pub(super) fn program(&self, set_aside: &[AllocId]) -> Program {
        let whole: &Program = &self.recording.program;
        let mut counts: Vec<bool> =
            (0..whole.allocations.len() as u32).map(|id| self.counts(AllocId(id))).collect();
        set_aside.iter().for_each(|id| counts[id.index()] = false);
        let early = whole.initial_allocs.iter().filter(|id| counts[id.index()]);
        let early = early.map(|id| Op { event: EventIdx(0), kind: OpKind::Alloc(*id) });
        let later =
            whole.ops.iter().copied().filter(|op| subject(op.kind).is_none_or(|id| counts[id.index()]));
        let ops = early.chain(later).collect();
        let mut program = whole.clone();
        (program.ops, program.initial, program.initial_allocs, program.driver) =
            (ops, vec![], vec![], vec![]);
        program
    }
}

/// The allocation that an operation is about.
fn subject(kind: OpKind) -> Option<AllocId> {
    match kind {
        OpKind::Alloc(id) | OpKind::Free(id) | OpKind::FreeLater(id) | OpKind::Complete(id) => Some(id),
        OpKind::AllocFailed(_) | OpKind::EmptyCache | OpKind::Abandon(_) | OpKind::EmptyPool(_) => None,
    }
}

/// What such a program asks for at its peak.
pub(super) fn at_peak(program: &Program) -> AtPeak {
    let size = |id: AllocId| program.allocations[id.index()].size;
    let (mut now, mut most, mut at) = (Bytes::ZERO, Bytes::ZERO, 0);
    for (index, op) in program.ops.iter().enumerate() {
        let reached = match op.kind {
            OpKind::Alloc(id) => {
                now += size(id);
                now
            }
            OpKind::Free(id) | OpKind::Complete(id) => {
                now = now.saturating_sub(size(id));
                now
            }
            OpKind::AllocFailed(place) => now + program.failures[place as usize].request.size,
            _ => now,
        };
        if reached > most {
            (most, at) = (reached, index);
        }
    }
    let mut live: BTreeSet<AllocId> = BTreeSet::new();
    let mut failed = None;
    for (index, op) in program.ops.iter().enumerate().take(at + 1) {
        match op.kind {
            OpKind::Alloc(id) => _ = live.insert(id),
            OpKind::Free(id) | OpKind::Complete(id) => _ = live.remove(&id),
            OpKind::AllocFailed(place) if index == at => {
                failed = Some((op.event, program.failures[place as usize].request.size));
            }
            _ => {}
        }
    }
    let event = program.ops.get(at).map_or_else(EventIdx::default, |op| op.event);
    AtPeak { requested: most, event, live: live.into_iter().collect(), failed }
}

/// What the allocator makes of such a program, under settings and without a limit.
pub(super) fn replayed(program: &Program, setup: &Setup) -> Outcome {
    let setup = Setup { limit: None, capacity: None, ..setup.clone() };
    replay::replay(program, &setup, Start::AsRecorded, OnFailure::FollowRecording)
}
