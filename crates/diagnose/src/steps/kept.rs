//! What stays in memory with every step, in bytes: for comparing two runs of nearly the same program.

use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, EventIdx};

use super::{Ledger, iterations as found_iterations, sums};
use crate::iterations::FEWEST;
use crate::phases::Phases;

/// What tells one step from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// The optimizer, or the mark of a trainer.
    Marked,
    /// Requests that recur.
    Recurring,
}

/// What stays with every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// How the steps are told apart.
    pub beat: Beat,
    /// How many there are.
    pub steps: usize,
    /// Bytes a step, once it has settled: of what is in use at the start of a step and was made before the last one.
    pub per_step: Bytes,
    /// Whether it rises steadily, by however little.
    pub grows: bool,
}

/// What stays, by each kind of step that the recording shows.
pub fn kept(recording: &Recording) -> Vec<Kept> {
    let phases = Phases::of(recording);
    let marked = if phases.trains() { phases.step_starts() } else { Vec::new() };
    let marked: Vec<EventIdx> = marked.into_iter().map(|(start, _)| start).collect();
    let (found, _, _) = found_iterations(recording, &phases);
    let mut all = vec![(Beat::Marked, marked)];
    if found != all[0].1 {
        all.push((Beat::Recurring, found));
    }
    all.retain(|(_, starts)| starts.len() >= FEWEST);
    all.into_iter().map(|(beat, starts)| over(recording, beat, &starts)).collect()
}

fn over(recording: &Recording, beat: Beat, starts: &[EventIdx]) -> Kept {
    let last = starts.len() - 1;
    let settled = if starts.len() < 12 { 2 } else { starts.len() / 2 };
    let first_after = |event: EventIdx| starts.partition_point(|start| *start <= event);
    let mut ledger = Ledger::new(starts.len());
    for (born, _, allocation) in recording.program.births() {
        let lives = first_after(born)..allocation.died().map_or(starts.len(), first_after);
        if lives.start > last {
            break;
        }
        ledger.note(allocation.size, (lives.start + 1).min(lives.end)..lives.end);
    }
    let there = sums(&ledger.changes[..starts.len()]);
    let total = there[last].saturating_sub(there[settled]);
    Kept {
        beat,
        steps: starts.len(),
        per_step: Bytes(total.0 / (last - settled).max(1) as u64),
        grows: rises(&there[settled..]),
    }
}

/// Hardly ever falls, and ends above all that it was at first.
fn rises(there: &[Bytes]) -> bool {
    let falls = there.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let third = there.len().div_ceil(3);
    let (early, late) = (there[..third].iter().max(), there[there.len() - third..].iter().min());
    falls * 5 < there.len() && late > early
}

#[cfg(test)]
mod tests {
    use super::rises;
    use oomph_trace::Bytes;

    #[test]
    fn what_rises_ends_above_its_beginning_and_hardly_falls() {
        let of = |sizes: &[u64]| rises(&sizes.iter().map(|size| Bytes(*size)).collect::<Vec<_>>());
        assert!(of(&[1, 2, 3, 4, 5, 6]));
        assert!(of(&[0, 512]));
        assert!(of(&[5, 6, 7, 7, 6, 9, 10, 11, 12]));
        assert!(!of(&[5, 5, 5, 5]));
        assert!(!of(&[5, 9, 5, 9, 5, 9]));
        assert!(!of(&[9, 6, 5]));
    }
}
