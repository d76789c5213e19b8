//! Where a process of a run is at this moment: NAME.pulse beside its notes, written by the recorder's pulse.py.

use std::path::Path;

use oomph_trace::sidecar::{Mark, MarkKind};

use crate::trust;

/// The kinds of marks, as the file numbers them.
const KINDS: [MarkKind; 7] = [
    MarkKind::Step,
    MarkKind::Backward,
    MarkKind::BackwardEnd,
    MarkKind::Optimizer,
    MarkKind::OptimizerEnd,
    MarkKind::Train,
    MarkKind::Eval,
];

/// The last mark that the process with these notes passed, as its pulse says; `None` where it says nothing.
pub fn pulse_beside(notes: &Path) -> Option<Mark> {
    mark(&trust::read_bounded(&notes.with_extension("pulse"), 24)?)
}

fn mark(bytes: &[u8]) -> Option<Mark> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let kind = *KINDS.get(usize::try_from(word(16)?).ok()?)?;
    Some(Mark { time_us: word(0)?, kind, number: word(8)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pulse_is_three_numbers_and_anything_else_is_none() {
        let bytes = |numbers: [u64; 3]| numbers.map(u64::to_le_bytes).concat();
        let found = mark(&bytes([5, 12, 1]));
        assert_eq!(found, Some(Mark { time_us: 5, kind: MarkKind::Backward, number: 12 }));
        assert_eq!(mark(&bytes([5, 12, 7])), None);
        assert_eq!(mark(&bytes([5, 12, 1])[..23]), None);
        assert_eq!(mark(&[]), None);
    }
}
