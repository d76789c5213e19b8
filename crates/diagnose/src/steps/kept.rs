//! What a forward pass made and nobody let go: allocations that live on two iterations after their own.

use std::collections::{BTreeMap, BTreeSet};

use oomph_engine::program::OpKind;
use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, EventIdx, FrameId, Snapshot, StackId};
use rustc_hash::FxHashMap;

use crate::iterations;
use crate::phase::Phase;
use crate::phases::Phases;
use crate::place::{self, Line, Place, PlaceId, Places};

/// Results of the forward passes of several iterations that are all alive.
///
/// Weights and optimizer state are none of them: they are made once, these again in every iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
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
    recording: &Recording<'_>,
    starts: &[EventIdx],
    places: &mut Places<'_>,
    marked: &Phases,
) -> Option<Kept> {
    let program = &recording.program;
    let failure = program.ops.iter().find(|op| op.kind == OpKind::AllocFailed).map(|op| op.event);
    let starts = &starts[..starts.partition_point(|start| failure.is_none_or(|event| *start <= event))];
    let &last = starts.last().filter(|_| starts.len() >= iterations::FEWEST)?;
    let eligible = starts.len() - 2;

    let mut phases = Told { snapshot: recording.snapshot, marked, of_stack: FxHashMap::default() };
    let mut born: Vec<Option<(EventIdx, Bytes)>> = vec![None; program.allocs as usize];
    let mut made = 0;
    for op in program.ops.iter().take_while(|op| op.event < last) {
        match op.kind {
            OpKind::Alloc => {
                born[op.alloc.0 as usize] = Some((op.event, op.size));
                let stack = places.stack(op.event);
                let counts = op.event >= starts[0] && op.event < starts[eligible];
                made += usize::from(
                    counts && stack.is_some_and(|stack| phases.of(op.event, stack) == Part::Forward),
                );
            }
            OpKind::Free | OpKind::FreeLater | OpKind::Complete => born[op.alloc.0 as usize] = None,
            OpKind::AllocFailed | OpKind::EmptyCache | OpKind::Abandon | OpKind::EmptyPool => {}
        }
    }
    let mut groups: BTreeMap<PlaceId, Group> = BTreeMap::new();
    for (event, size) in born.into_iter().flatten() {
        let step = starts.partition_point(|start| *start <= event);
        let Some(stack) = places.stack(event) else { continue };
        if !(1..=eligible).contains(&step) || phases.of(event, stack) != Part::Forward {
            continue;
        }
        let group = groups.entry(places.of(Some(stack))).or_default();
        group.count += 1;
        group.bytes += size;
        group.steps.insert(step);
        group.stacks.insert(stack);
    }
    groups.retain(|_, group| group.steps.len() >= 2);
    let steps: BTreeSet<usize> = groups.values().flat_map(|group| group.steps.iter().copied()).collect();
    let first = starts[steps.first().filter(|_| steps.len() * 2 >= eligible)? - 1];
    let mut lines: Vec<(Place, Bytes)> =
        groups.iter().filter_map(|(place, group)| Some((places.get(*place)?.clone(), group.bytes))).collect();
    lines.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Some(Kept {
        under: under(recording.snapshot, groups.values().flat_map(|group| &group.stacks))?,
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
    recording: &Recording<'_>,
    phases: &mut Told<'_>,
    failure: Option<EventIdx>,
) -> Option<EventIdx> {
    let ops = recording.program.ops.iter().rev();
    let mut requests = ops
        .filter(|op| matches!(op.kind, OpKind::Alloc | OpKind::AllocFailed))
        .filter(|op| failure.is_none_or(|event| op.event <= event));
    let found = requests.find(|op| {
        let stack = recording.trace.events[op.event.index()].stack;
        if let Some(trains) = phases.trains(op.event) {
            return trains;
        }
        let Some(stack) = stack else { return true };
        recording.snapshot.stacks.frames_of(stack).is_empty() || phases.of(op.event, stack) == Part::Training
    });
    found.map(|op| op.event)
}

/// The phase of each event, as it is marked, and as its stack tells; each stack is looked at once.
struct Told<'a> {
    snapshot: &'a Snapshot,
    marked: &'a Phases,
    of_stack: FxHashMap<StackId, Part>,
}

impl Told<'_> {
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
