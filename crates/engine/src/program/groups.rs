//! Runs of driver calls and what they mean: growth, pressure, or a call of `empty_cache`.

use oomph_trace::{Action, Bytes, Snapshot, StackId, Trace};

use super::assume::Assumptions;
use super::limit::{LimitBounds, Refusal};
use crate::torch::options::Options;
use crate::torch::profile::Profile;
use crate::torch::rounding;

/// A run of driver calls with no event of the program in between, other than frees that a synchronisation completed
/// between two releases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The first call's event.
    pub(super) first: usize,
    /// The last call that gives memory back, if one does.
    pub(super) last_shrink: Option<usize>,
    /// Held before the run.
    pub(super) before: Bytes,
    /// Held at its lowest, after what was given back.
    pub(super) lowest: Bytes,
    /// The event that follows, which is the program's or the end.
    pub(super) end: usize,
    /// Whether memory was asked for after the last giving back.
    pub(super) grows: bool,
    /// Whether the recorded stack says that `empty_cache` was called.
    pub(super) is_empty_cache: bool,
    /// Whether frees completed within the run, so that it was two releases for one request.
    pub(super) completes: bool,
}

/// What a run of driver calls was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The driver was asked for memory and gave it, perhaps after garbage collection.
    Growth,
    /// A request was refused and the cache was released for it.
    Pressure,
    /// The program called `empty_cache`; what grew after it, grew for the next request.
    EmptyCache,
}

/// Every run, and the bounds on the limit that they imply.
pub(super) fn read(
    snapshot: &Snapshot,
    trace: &Trace,
    held_before: Bytes,
    options: &Options,
    profile: &Profile,
    assumptions: &Assumptions,
) -> (Vec<(Group, Meaning)>, LimitBounds) {
    let groups = find(snapshot, trace, held_before);
    let segment_for = |group: &Group| {
        let event = trace.events.get(group.end)?;
        matches!(event.action, Action::Alloc | Action::Oom).then(|| {
            let size = rounding::block_size(event.size, &options.roundup_power2_divisions, profile);
            rounding::segment_size(size, options.large_segment_size)
        })
    };
    let mut bounds = LimitBounds::default();
    for group in &groups {
        if !options.expandable_segments {
            // Mapping whole pages may take more than was asked for, and so more than is allowed.
            bounds.at_least = bounds.at_least.max(group.before);
        }
        let granted =
            group.grows && trace.events.get(group.end).is_some_and(|event| event.action == Action::Alloc);
        if let Some(segment) = segment_for(group).filter(|_| granted) {
            bounds.at_least = bounds.at_least.max(group.lowest + segment);
        }
    }
    let mut meanings = Vec::with_capacity(groups.len());
    for group in groups {
        let likely = meaning(&group, trace, segment_for(&group), options, &bounds);
        let meaning = match likely {
            Meaning::Pressure | Meaning::Growth if assumptions.flipped.contains(&group.first) => {
                Meaning::EmptyCache
            }
            Meaning::EmptyCache if assumptions.flipped.contains(&group.first) => Meaning::Pressure,
            likely => likely,
        };
        if meaning == Meaning::Pressure
            && let Some(segment) = segment_for(&group)
        {
            bounds.refused_at(group.before + segment);
        }
        meanings.push((group, meaning));
    }
    refusals_of_ooms(trace, &meanings, held_before, options, profile, &mut bounds);
    (meanings, bounds)
}

fn meaning(
    group: &Group,
    trace: &Trace,
    segment: Option<Bytes>,
    options: &Options,
    bounds: &LimitBounds,
) -> Meaning {
    if group.last_shrink.is_none() {
        return Meaning::Growth;
    }
    let failed = trace.events.get(group.end).is_some_and(|event| event.action == Action::Oom);
    match segment {
        // The cache is released for a request only to ask the driver again.
        Some(segment) if !group.is_empty_cache && (group.grows || failed) => {
            if group.completes {
                Meaning::Pressure
            } else if options.garbage_collection_threshold > 0.0 && !failed {
                Meaning::Growth
            } else if group.before + segment <= bounds.at_least && !failed {
                // As much was granted at another time, so nothing was refused here.
                Meaning::EmptyCache
            } else {
                Meaning::Pressure
            }
        }
        _ => Meaning::EmptyCache,
    }
}

fn find(snapshot: &Snapshot, trace: &Trace, held_before: Bytes) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut held = held_before;
    let mut open: Option<Group> = None;
    for (index, event) in trace.events.iter().enumerate() {
        if !event.action.is_driver_call() {
            if let Some(group) = open.take() {
                groups.push(Group { end: index, ..group });
            }
            continue;
        }
        let shrinks = matches!(event.action, Action::SegmentFree | Action::SegmentUnmap);
        if open.is_none() && shrinks {
            // Two releases with nothing but completions between them are one.
            open = groups
                .pop_if(|last| {
                    let between = &trace.events[last.end..index];
                    last.last_shrink.is_some()
                        && !last.grows
                        && between.iter().all(|event| event.action == Action::FreeCompleted)
                })
                .map(|last| Group { completes: true, ..last });
        }
        let group = open.get_or_insert(Group {
            first: index,
            last_shrink: None,
            before: held,
            lowest: held,
            end: trace.events.len(),
            grows: false,
            is_empty_cache: false,
            completes: false,
        });
        if shrinks {
            held = held.saturating_sub(event.size);
            group.lowest = group.lowest.min(held);
            group.last_shrink = Some(index);
            group.grows = false;
            group.is_empty_cache |= event.stack.is_some_and(|stack| calls_empty_cache(snapshot, stack));
        } else {
            held += event.size;
            group.grows = true;
        }
    }
    groups.extend(open);
    groups
}

fn calls_empty_cache(snapshot: &Snapshot, stack: StackId) -> bool {
    snapshot.stacks.frames_of(stack).iter().any(|frame| {
        let frame = snapshot.stacks.frame(*frame);
        snapshot.texts.get(frame.function) == "empty_cache"
            && snapshot.texts.get(frame.file).ends_with("memory.py")
    })
}

/// The runs that can be read as pressure and as the end of a pool or a call of `empty_cache` that no stack shows.
pub(super) fn ambiguous(trace: &Trace, groups: &[(Group, Meaning)]) -> Vec<(usize, usize)> {
    let open = groups.iter().filter(|(group, _)| {
        let request = trace.events.get(group.end).map(|event| event.action);
        let precedes_request = matches!(request, Some(Action::Alloc | Action::Oom));
        group.last_shrink.is_some() && !group.is_empty_cache && !group.completes && precedes_request
    });
    open.map(|(group, _)| (group.first, group.end)).collect()
}

/// Adds what failed requests tell: the driver or the limit refused although the cache had been released.
fn refusals_of_ooms(
    trace: &Trace,
    groups: &[(Group, Meaning)],
    held_before: Bytes,
    options: &Options,
    profile: &Profile,
    bounds: &mut LimitBounds,
) {
    let mut held = held_before;
    for event in &trace.events {
        match event.action {
            Action::SegmentAlloc | Action::SegmentMap => held += event.size,
            Action::SegmentFree | Action::SegmentUnmap => held = held.saturating_sub(event.size),
            Action::Oom => {
                let size = rounding::block_size(event.size, &options.roundup_power2_divisions, profile);
                let segment = rounding::segment_size(size, options.large_segment_size);
                bounds.refused_at(held + segment);
                if event.device_free() < segment {
                    // The card itself was full: what it had left is the rest of what it can give.
                    bounds.refusal = Some(Refusal::Device { capacity: held + event.device_free() });
                } else if bounds.refusal.is_none() {
                    bounds.refusal = Some(Refusal::Limit);
                }
            }
            _ => {}
        }
    }
    if let (Some(Refusal::Device { capacity }), Some(below)) = (bounds.refusal, bounds.below)
        && below <= capacity
    {
        // Less than the card could give was refused at another time, so that was not the card.
        bounds.refusal = Some(Refusal::Limit);
    }
    if bounds.refusal.is_none() && groups.iter().any(|(_, meaning)| *meaning == Meaning::Pressure) {
        bounds.refusal = Some(Refusal::Unnamed);
    }
}
