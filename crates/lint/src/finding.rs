//! What the reader has to say.

use ruff_text_size::TextRange;

use crate::rule::Rule;

/// A place in a file that a rule is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) rule: Rule,
    /// The place, in bytes of the source.
    pub(crate) range: TextRange,
    /// What happens there, and what to do, in a sentence or two.
    pub(crate) message: String,
    /// How to mend it, where that is safe.
    pub(crate) fix: Option<Fix>,
}

/// A change of the source that keeps what the program computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fix {
    /// What is replaced by what; places do not overlap.
    pub(crate) edits: Vec<(TextRange, String)>,
}
