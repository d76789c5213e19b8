//! The iterations of a job, found from its allocations alone.

use std::ops::Range;

use oomph_engine::recording::Recording;
use oomph_trace::{Action, Bytes, EventIdx, FrameId, Snapshot, StackId};
use rustc_hash::FxHashMap;

use crate::borrow::Spans;

/// Fewer iterations show no trend.
pub(crate) const FEWEST: usize = 4;
/// The share of the run that a kind of request must span to count as recurring.
const SPREAD: f64 = 0.4;
/// How much less of the recurring kinds an iteration may hold than the best division of the run does.
const TOLERANCE: f64 = 0.9;
/// How many ways to divide the run are tried.
const TRIES: usize = 32;

/// A kind of request and how it recurs.
#[derive(Clone, Copy, Debug)]
struct Kind {
    count: usize,
    /// Whether its line is the program's own, outside of modules and of what makes them.
    is_loop: bool,
    first: EventIdx,
    last: EventIdx,
}

/// Where iterations begin within these events; empty if none were found.
///
/// Requests are told apart by their stack, without stacks by their size. A kind of request that is made once in each
/// iteration divides the run into parts that all hold the same kinds; one that is made once a layer does not, since
/// the backward pass and the optimizer come only after the last layer. So the division is taken whose parts hold the
/// most of the recurring kinds, and of those about as good the finest.
pub(crate) fn starts(recording: &Recording, within: Range<EventIdx>) -> Vec<EventIdx> {
    let plain = found(recording, within.clone(), false);
    if plain.is_empty() { loops(recording, within) } else { plain }
}

/// Like [`starts`], but only where a line of the program's own loop shows them.
pub(crate) fn loops(recording: &Recording, within: Range<EventIdx>) -> Vec<EventIdx> {
    found(recording, within, true)
}

fn found(recording: &Recording, within: Range<EventIdx>, only_loops: bool) -> Vec<EventIdx> {
    let (events, kinds, sequence) = recurring_kinds(recording, &within);
    if kinds.len() < 2 {
        // One request repeated is a list being filled, not an iteration of a job.
        return Vec::new();
    }
    // A line outside all modules recurs with the program's own loop, never with the layers of a model.
    let mut by_count: FxHashMap<usize, (usize, u32)> = FxHashMap::default();
    for (index, kind) in kinds.iter().enumerate().filter(|(_, kind)| kind.is_loop || !only_loops) {
        let (votes, earliest) = by_count.entry(kind.count).or_insert((0, index as u32));
        *votes += 1;
        if kind.first < kinds[*earliest as usize].first {
            *earliest = index as u32;
        }
    }
    let mut tries: Vec<(usize, usize, u32)> =
        by_count.into_iter().map(|(count, (votes, earliest))| (votes, count, earliest)).collect();
    tries.sort_by_key(|(votes, count, _)| (std::cmp::Reverse(*votes), *count));
    tries.truncate(TRIES);
    let divisions: Vec<(f64, usize, u32)> = tries
        .into_iter()
        .map(|(_, count, anchor)| (coverage(&sequence, kinds.len(), anchor), count, anchor))
        .collect();
    let best = divisions.iter().map(|(coverage, _, _)| *coverage).fold(0.0, f64::max);
    let good = divisions.into_iter().filter(|(coverage, _, _)| *coverage >= best * TOLERANCE);
    let Some((_, _, anchor)) = good.max_by_key(|(_, count, _)| *count) else { return Vec::new() };
    let found = sequence.iter().zip(events).filter(|(kind, _)| **kind == anchor).map(|(_, event)| event);
    let found: Vec<EventIdx> = found.collect();
    if only_loops || frees(recording, &found) { found } else { Vec::new() }
}

/// Whether most iterations give back much of what they make: layers of a forward pass, or weights that are loaded,
/// recur and give nothing back.
fn frees(recording: &Recording, starts: &[EventIdx]) -> bool {
    let turn = |event: EventIdx| starts.partition_point(|start| *start <= event);
    let mut made = vec![(Bytes::ZERO, Bytes::ZERO); starts.len() + 1];
    for (born, _, allocation) in recording.program.births() {
        let at = turn(born);
        made[at].0 += allocation.size;
        if allocation.freed().is_some_and(|freed| turn(freed) <= at + 1) {
            made[at].1 += allocation.size;
        }
    }
    let whole = &made[1..made.len().max(2) - 1];
    whole.iter().filter(|(made, freed)| freed.0 * 4 >= made.0).count() * 2 > whole.len()
}

/// The kinds that recur over much of the run; and of each request of such a kind, in order, its event and its kind.
fn recurring_kinds(recording: &Recording, within: &Range<EventIdx>) -> (Vec<EventIdx>, Vec<Kind>, Vec<u32>) {
    let by_stack = !stacks_are_sampled(recording);
    let mut ids: FxHashMap<(u8, u64), u32> = FxHashMap::default();
    let mut kinds: Vec<Kind> = Vec::new();
    let mut sequence: Vec<(EventIdx, u32)> = Vec::new();
    for (born, _, allocation) in recording.program.births().filter(|(born, ..)| within.contains(born)) {
        let stack = recording.stack(allocation).filter(|_| by_stack);
        let key = stack.map_or((1, allocation.size.0), |stack| (0, u64::from(stack.0)));
        let id = *ids.entry(key).or_insert_with(|| {
            let is_loop = stack.is_some_and(|stack| is_loop(&recording.snapshot, stack));
            kinds.push(Kind { count: 0, is_loop, first: born, last: born });
            (kinds.len() - 1) as u32
        });
        kinds[id as usize].count += 1;
        kinds[id as usize].last = born;
        sequence.push((born, id));
    }
    let length = sequence.last().map_or(0, |(event, _)| event.0 - within.start.0);
    let spread = (f64::from(length) * SPREAD) as u32;
    let mut renumbered = vec![None; kinds.len()];
    let mut recurring = Vec::new();
    for (index, kind) in kinds.iter().enumerate() {
        if kind.count >= FEWEST && kind.last.0 - kind.first.0 >= spread {
            renumbered[index] = Some(recurring.len() as u32);
            recurring.push(*kind);
        }
    }
    let kept = sequence.into_iter().filter_map(|(event, id)| Some((event, renumbered[id as usize]?)));
    let (events, sequence) = kept.unzip();
    (events, recurring, sequence)
}

/// Functions within which something recurs that is not an iteration: layers, parameters, gradients.
const WITHIN: &[&str] = &[
    "_call_impl",
    "_apply",
    "__init__",
    "load_state_dict",
    "load",
    "_load",
    "deepcopy",
    "state_dict",
    "backward",
    "step",
];

fn is_loop(snapshot: &Snapshot, stack: StackId) -> bool {
    let frames = snapshot.stacks.frames_of(stack);
    let function = |id: &FrameId| snapshot.texts.get(snapshot.stacks.frame(*id).function);
    !frames.is_empty() && frames.iter().all(|id| !WITHIN.contains(&function(id)))
}

/// Whether some requests lack a stack only because none were recorded at that time: then stacks tell no kinds apart.
fn stacks_are_sampled(recording: &Recording) -> bool {
    let Some(sidecar) = recording.snapshot.sidecar.as_ref().filter(|sidecar| !sidecar.stacks.is_empty())
    else {
        return false;
    };
    let spans = Spans::new(&sidecar.stacks);
    recording.trace().events.iter().any(|event| event.action == Action::Alloc && !spans.hold(event.time_us))
}

/// The share of the kinds that a part of the run holds, on average, if it is divided before each `anchor`.
fn coverage(sequence: &[u32], kinds: usize, anchor: u32) -> f64 {
    let mut seen_in = vec![0usize; kinds];
    let mut part = 0;
    let mut seen = 0usize;
    for kind in sequence {
        part += usize::from(*kind == anchor);
        if part > 0 && seen_in[*kind as usize] != part {
            seen_in[*kind as usize] = part;
            seen += 1;
        }
    }
    seen as f64 / (part.max(1) * kinds.max(1)) as f64
}
