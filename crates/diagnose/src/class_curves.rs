//! What memory in use was for, over a stretch of the run: the parts of a stacked chart.

use std::ops::Range;

use oomph_engine::program::Change;
use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, EventIdx};

use crate::classes::{Class, Classes};
use crate::phases::{Phases, Stretch};

/// Bytes in use by class at some events, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassCurves {
    /// The stretch of the run.
    pub range: Range<EventIdx>,
    /// The phases in it, as they were marked; the first may have begun before it.
    pub phases: Vec<Stretch>,
    /// The classes that occur, in the order of [`Class::ALL`].
    pub classes: Vec<Class>,
    /// Events, and what each class had in use right after them; of a column of events, the one with the most.
    pub points: Vec<(EventIdx, Vec<Bytes>)>,
}

/// The curves from one event to another, in at most `most` columns. What was asked for is counted, not what rounding
/// added. `None` where the recording does not tell classes.
pub fn between(
    recording: &Recording,
    phases: &Phases,
    from: EventIdx,
    to: EventIdx,
    most: usize,
) -> Option<ClassCurves> {
    let classes = Classes::find(recording, phases)?;
    let marked = phases.stretches();
    let first = phases.index_at(from).unwrap_or(0);
    let behind = marked.partition_point(|stretch| stretch.from < to).max(first);
    let length = (to.0.saturating_sub(from.0)).max(1) as usize;
    let column = |event: EventIdx| (event.0.saturating_sub(from.0)) as usize * most / length;
    let mut held = [Bytes::ZERO; Class::ALL.len()];
    let mut columns: Vec<Option<(EventIdx, [Bytes; Class::ALL.len()])>> = vec![None; most + 1];
    let program = &recording.program;
    for (event, change, id) in program.changes().take_while(|(event, ..)| *event <= to) {
        let allocation = &program.allocations[id.index()];
        let held_now = &mut held[classes.of(id) as usize];
        match (change, allocation.born()) {
            (Change::Birth, _) => *held_now += allocation.size,
            (Change::Death, Some(_)) => *held_now = held_now.saturating_sub(allocation.size),
            // What was there before the start is not counted.
            (Change::Death, None) => {}
        }
        if event >= from {
            let total: Bytes = held.iter().copied().sum();
            let slot = &mut columns[column(event).min(most)];
            if slot.is_none_or(|(_, had)| had.iter().copied().sum::<Bytes>() <= total) {
                *slot = Some((event, held));
            }
        }
    }
    let found: Vec<(EventIdx, [Bytes; Class::ALL.len()])> = columns.into_iter().flatten().collect();
    let occurs = |rank: usize| found.iter().any(|(_, held)| held[rank] > Bytes::ZERO);
    let ranks: Vec<usize> = (0..Class::ALL.len()).filter(|rank| occurs(*rank)).collect();
    Some(ClassCurves {
        range: from..to,
        phases: marked[first..behind].to_vec(),
        classes: ranks.iter().map(|rank| Class::ALL[*rank]).collect(),
        points: found
            .into_iter()
            .map(|(event, held)| (event, ranks.iter().map(|rank| held[*rank]).collect()))
            .collect(),
    })
}
