//! Two recordings compared: what the second job needs more than the first, and which lines ask for it.
//!
//! Judged is what a job needs, not what its pool happened to hold. Both programs are replayed from an empty cache, under
//! the settings of the first, without a limit. What was there before a recording began and has no line does not count:
//! a warm-up or another cell left it. Compared is what was asked for at the peak of each, line by line.
//!
//! In reading order: what is found, which lines are the same in both, what each job needs, what only one of them shows
//! because the other recording began later, and the comparison.

mod comparison;

mod matching;

mod side;

mod start;

mod compare;

pub use compare::compare;
pub use comparison::{Change, ClassChange, Comparison, Doubt, Held, KeptChange, LineChange, Need, Where};
pub use side::Texts;
