//! Results of forward passes that are still alive two iterations later.

use std::collections::{BTreeMap, BTreeSet};

use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, EventIdx, FrameId, Snapshot, StackId};
use rustc_hash::FxHashMap;

use crate::iterations;
use crate::phase::Phase;
use crate::phases::Phases;
use crate::place::{self, Line, Place, PlaceId, Places};

/// Results of the forward passes of several iterations that are all alive.
///
/// Weights and optimizer state do not count: they are made once, and these in every iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftovers {
    /// The innermost line of the user's that all of them were made under.
    pub under: Line,
    /// The lines that made them, most bytes first.
    pub lines: Vec<(Place, Bytes)>,
    /// How many allocations.
    pub count: usize,
    /// How many results the forward passes of all iterations that count made, kept or not.
    pub made: usize,
    /// Their bytes, as asked for.
    pub bytes: Bytes,
    /// How many iterations they stem from.
    pub steps: usize,
    /// Whether a backward pass or an optimizer ran since the first of them.
    pub trained: bool,
}

/// What part of a training loop a stack shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Forward,
    /// The backward pass, or the optimizer.
    Training,
    Other,
}

/// What one line keeps.
#[derive(Debug, Default)]
struct Group {
    count: usize,
    bytes: Bytes,
    steps: BTreeSet<usize>,
    stacks: BTreeSet<StackId>,
}

/// The results of forward passes alive at the start of the last iteration and made two or more before it, by lines
/// that made some in several; `None` unless they stem from at least half of those iterations.
pub(super) fn find(
    recording: &Recording,
    starts: &[EventIdx],
    places: &mut Places<'_>,
    marked: &Phases,
) -> Option<Leftovers> {
    let failure = recording.program.failures.first().map(|failed| failed.event);
    let starts = &starts[..starts.partition_point(|start| failure.is_none_or(|event| *start <= event))];
    let &last = starts.last().filter(|_| starts.len() >= iterations::FEWEST)?;
    let eligible = starts.len() - 2;

    let mut phases = StackPhases { snapshot: &recording.snapshot, marked, of_stack: FxHashMap::default() };
    let mut made = 0;
    let mut groups: BTreeMap<PlaceId, Group> = BTreeMap::new();
    for (born, _, allocation) in recording.program.births() {
        let step = starts.partition_point(|start| *start <= born);
        let Some(stack) = places.stack(born).filter(|_| (1..=eligible).contains(&step)) else { continue };
        if phases.of(born, stack) != Part::Forward {
            continue;
        }
        made += 1;
        if allocation.freed().is_none_or(|freed| freed >= last) {
            let group = groups.entry(places.of(Some(stack))).or_default();
            group.count += 1;
            group.bytes += allocation.size;
            group.steps.insert(step);
            group.stacks.insert(stack);
        }
    }
    groups.retain(|_, group| group.steps.len() >= 2);
    let steps: BTreeSet<usize> = groups.values().flat_map(|group| group.steps.iter().copied()).collect();
    let first = starts[steps.first().filter(|_| steps.len() * 2 >= eligible)? - 1];
    let mut lines: Vec<(Place, Bytes)> =
        groups.iter().filter_map(|(place, group)| Some((places.get(*place)?.clone(), group.bytes))).collect();
    lines.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Some(Leftovers {
        under: under(&recording.snapshot, groups.values().flat_map(|group| &group.stacks))?,
        lines,
        count: groups.values().map(|group| group.count).sum(),
        made,
        bytes: groups.values().map(|group| group.bytes).sum(),
        steps: steps.len(),
        trained: last_trained(recording, &mut phases, failure).is_some_and(|event| event >= first),
    })
}

/// The innermost line of the user's among the outer frames that all stacks share.
fn under<'a>(snapshot: &Snapshot, mut stacks: impl Iterator<Item = &'a StackId>) -> Option<Line> {
    let frames_of = |stack: &StackId| snapshot.stacks.frames_of(*stack);
    let mut shared = frames_of(stacks.next()?);
    for stack in stacks {
        let same = |(a, b): &(&FrameId, &FrameId)| snapshot.stacks.frame(**a) == snapshot.stacks.frame(**b);
        let length = shared.iter().rev().zip(frames_of(stack).iter().rev()).take_while(same).count();
        shared = &shared[shared.len() - length..];
    }
    place::place_of(snapshot, shared).map(|place| place.line)
}

/// The last request up to the failure that came from a backward pass or an optimizer, as marked. Without marks the
/// stacks tell: autograd works in threads without Python frames, so a request without any counts as its own.
fn last_trained(
    recording: &Recording,
    phases: &mut StackPhases<'_>,
    failure: Option<EventIdx>,
) -> Option<EventIdx> {
    let trains = |event: &EventIdx| {
        if let Some(trains) = phases.trains(*event) {
            return trains;
        }
        let Some(stack) = recording.trace().events[event.index()].stack else { return true };
        recording.snapshot.stacks.frames_of(stack).is_empty() || phases.of(*event, stack) == Part::Training
    };
    let births = recording.program.births().rev().map(|(born, ..)| born);
    let before = births.skip_while(|born| failure.is_some_and(|event| *born > event));
    failure.into_iter().chain(before).find(trains)
}

/// The phase of each event, as it is marked, and as its stack tells; each stack is looked at once.
struct StackPhases<'a> {
    snapshot: &'a Snapshot,
    marked: &'a Phases,
    of_stack: FxHashMap<StackId, Part>,
}

impl StackPhases<'_> {
    /// Whether the event is marked as part of a backward pass or an optimizer; `None` where nothing is marked.
    fn trains(&self, event: EventIdx) -> Option<bool> {
        let phase = self.marked.at(event)?.phase;
        Some(matches!(phase, Phase::Backward | Phase::Optimizer))
    }

    fn of(&mut self, event: EventIdx, stack: StackId) -> Part {
        if self.trains(event) == Some(true) {
            return Part::Training;
        }
        let snapshot = self.snapshot;
        *self.of_stack.entry(stack).or_insert_with(|| phase(snapshot, stack))
    }
}

fn phase(snapshot: &Snapshot, stack: StackId) -> Part {
    let (mut forward, mut under_decorator) = (false, false);
    for frame in snapshot.stacks.frames_of(stack) {
        let frame = snapshot.stacks.frame(*frame);
        let (file, function) = (snapshot.texts.get(frame.file), snapshot.texts.get(frame.function));
        if function.contains("backward") || file.contains("/optim") || file.ends_with("autograd/__init__.py")
        {
            return Part::Training;
        }
        if function == "decorate_context" {
            // `@torch.no_grad()` or `@torch.inference_mode()`: what is made under it belongs to no graph.
            under_decorator = true;
        }
        forward |= matches!(function, "forward" | "_call_impl");
    }
    if forward && !under_decorator { Part::Forward } else { Part::Other }
}
