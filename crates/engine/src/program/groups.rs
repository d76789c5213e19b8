//! Runs of driver calls and what they mean: growth, pressure, or a call of `empty_cache`.

use oomph_trace::{Action, Bytes, Event, Snapshot, StackId};

use super::limit::{LimitBounds, Refusal};
use super::{Source, shrinks};

/// A run of driver calls with no event of the program in between, other than frees that a synchronisation completed
/// between two releases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The first call's event.
    pub(super) first: usize,
    /// The last call that gives memory back, if one does.
    pub(super) last_shrink: Option<usize>,
    /// Held before the run.
    before: Bytes,
    /// Held at its lowest, after what was given back.
    lowest: Bytes,
    /// The event that follows, which is the program's or the end.
    pub(super) end: usize,
    /// Whether memory was asked for after the last giving back.
    grows: bool,
    /// Whether the recorded stack says that `empty_cache` was called.
    is_empty_cache: bool,
    /// Whether frees completed within the run, so that it was two releases for one request.
    pub(super) completes: bool,
    /// What the run was.
    pub(super) meaning: Meaning,
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

/// A request as the driver sees it: the segment it needs, and whether it was granted in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Need {
    segment: Bytes,
    granted: bool,
}

impl Need {
    /// What the event at `index` needs, if it is a request.
    fn at(source: &Source<'_>, index: usize) -> Option<Need> {
        let Event { action, size, .. } = *source.trace.events.get(index)?;
        let segment = || source.options.segment_size(source.options.block_size(size, source.profile));
        matches!(action, Action::Alloc | Action::Oom)
            .then(|| Need { segment: segment(), granted: action == Action::Alloc })
    }
}

/// Every run, and the bounds on the limit that they imply.
pub(super) fn read(source: &Source<'_>, held_before: Bytes) -> (Vec<Group>, LimitBounds) {
    let mut groups = find(source, held_before);
    let mut bounds = LimitBounds::default();
    for group in &groups {
        if !source.options.expandable_segments {
            // Mapping whole pages may take more than was asked for, and so more than is allowed.
            bounds.at_least = bounds.at_least.max(group.before);
        }
        if let Some(need) = Need::at(source, group.end).filter(|need| need.granted && group.grows) {
            bounds.at_least = bounds.at_least.max(group.lowest + need.segment);
        }
    }
    for group in &mut groups {
        let need = Need::at(source, group.end);
        let likely = meaning(group, need, source.options.garbage_collection_threshold > 0.0, &bounds);
        group.meaning = match likely {
            likely if !source.assumptions.flipped.contains(&group.first) => likely,
            Meaning::Pressure | Meaning::Growth => Meaning::EmptyCache,
            Meaning::EmptyCache => Meaning::Pressure,
        };
        if let Some(need) = need.filter(|_| group.meaning == Meaning::Pressure) {
            bounds.refused_at(group.before + need.segment);
        }
    }
    refusals_of_ooms(source, &groups, held_before, &mut bounds);
    (groups, bounds)
}

/// What a run seems to have been, by itself.
fn meaning(group: &Group, need: Option<Need>, collects_garbage: bool, bounds: &LimitBounds) -> Meaning {
    // The cache is released for a request only to ask the driver again.
    let need = need.filter(|need| !group.is_empty_cache && (group.grows || !need.granted));
    match (group.last_shrink, need) {
        (None, _) => Meaning::Growth,
        (Some(_), None) => Meaning::EmptyCache,
        (Some(_), Some(need)) if group.completes || !need.granted => Meaning::Pressure,
        (Some(_), Some(_)) if collects_garbage => Meaning::Growth,
        // As much was granted at another time, so nothing was refused here.
        (Some(_), Some(need)) if group.before + need.segment <= bounds.at_least => Meaning::EmptyCache,
        (Some(_), Some(_)) => Meaning::Pressure,
    }
}

fn find(source: &Source<'_>, held_before: Bytes) -> Vec<Group> {
    let events = &source.trace.events;
    let mut groups: Vec<Group> = Vec::new();
    let mut held = held_before;
    let mut open: Option<Group> = None;
    for (index, event) in source.survey.driver(source.trace) {
        // An event of the program is in between.
        groups.extend(open.take_if(|group| group.end < index));
        let shrinks = shrinks(event.action);
        if open.is_none() && shrinks {
            // Two releases with nothing but completions between them are one.
            open = groups
                .pop_if(|last| {
                    let mut between = events[last.end..index].iter();
                    last.last_shrink.is_some()
                        && !last.grows
                        && between.all(|event| event.action == Action::FreeCompleted)
                })
                .map(|last| Group { completes: true, ..last });
        }
        let group = open.get_or_insert(Group {
            first: index,
            last_shrink: None,
            before: held,
            lowest: held,
            end: index,
            grows: false,
            is_empty_cache: false,
            completes: false,
            meaning: Meaning::Growth,
        });
        group.end = index + 1;
        group.grows = !shrinks;
        if shrinks {
            held = held.saturating_sub(event.size);
            group.lowest = group.lowest.min(held);
            group.last_shrink = Some(index);
            group.is_empty_cache |=
                event.stack.is_some_and(|stack| calls_empty_cache(source.snapshot, stack));
        } else {
            held += event.size;
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

/// The runs that can be read as pressure and as the end of a pool or a call of `empty_cache` that no stack shows; each
/// as its first event and its end.
pub(super) fn ambiguous(source: &Source<'_>, groups: &[Group]) -> Vec<(usize, usize)> {
    let open = groups.iter().filter(|group| {
        let releases = group.last_shrink.is_some() && !group.is_empty_cache && !group.completes;
        releases && Need::at(source, group.end).is_some()
    });
    open.map(|group| (group.first, group.end)).collect()
}

/// Adds what failed requests tell: the driver or the limit refused although the cache had been released.
fn refusals_of_ooms(source: &Source<'_>, groups: &[Group], held_before: Bytes, bounds: &mut LimitBounds) {
    let mut held = held_before;
    for (index, event) in source.survey.rare(source.trace) {
        if event.action.is_driver_call() {
            held = if shrinks(event.action) { held.saturating_sub(event.size) } else { held + event.size };
        } else if event.action == Action::Oom
            && let Some(Need { segment, .. }) = Need::at(source, index)
        {
            bounds.refused_at(held + segment);
            if event.device_free() < segment {
                // The card itself was full: what it had left is the rest of what it can give.
                bounds.refusal = Some(Refusal::Device { capacity: held + event.device_free() });
            } else {
                bounds.refusal.get_or_insert(Refusal::Limit);
            }
        }
    }
    if let (Some(Refusal::Device { capacity }), Some(below)) = (bounds.refusal, bounds.below)
        && below <= capacity
    {
        // Less than the card could give was refused at another time, so that was not the card.
        bounds.refusal = Some(Refusal::Limit);
    }
    if groups.iter().any(|group| group.meaning == Meaning::Pressure) {
        bounds.refusal.get_or_insert(Refusal::Unnamed);
    }
}
