//! What a file's reader is told.

use crate::proof::Proof;
use crate::rule::Rule;

/// A finding, where the reader of the file sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule.
    pub rule: Rule,
    /// The cell, from 1; only of a notebook.
    pub cell: Option<usize>,
    /// The first and the last line, from 1, and columns in characters, from 1; the last column is behind the end.
    pub line: usize,
    #[expect(missing_docs, reason = "see `line`")]
    pub column: usize,
    #[expect(missing_docs, reason = "see `line`")]
    pub end_line: usize,
    #[expect(missing_docs, reason = "see `line`")]
    pub end_column: usize,
    /// What happens there, and what to do.
    pub message: String,
    /// The text of the first line.
    pub source: String,
    /// Whether `--fix` mends it.
    pub is_fixable: bool,
    /// What it costs, where that was measured.
    pub proof: Option<Proof>,
}

/// A file and what was found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileResult {
    /// The path, as the user gave it or below what they gave.
    pub path: String,
    /// What was found, or why the file was not read.
    pub found: Result<Vec<Diagnostic>, Unreadable>,
    /// How many places were mended.
    pub fixed: usize,
    /// What all of it costs together, where that was measured.
    pub proof: Option<Proof>,
}

/// Why a file was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}
