//! Bytes of a source as lines and columns, and what its comments ask to leave alone.

use crate::rule::Rule;

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Lines<'a> {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Lines { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The line of a byte, from 1, and its column in characters, from 1.
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|&start| start <= at);
        let column = self.text[self.starts[line - 1]..at].chars().count() + 1;
        (line, column)
    }

    /// Where a line begins, in bytes.
    pub(crate) fn start(&self, line: usize) -> usize {
        self.starts[line - 1]
    }

    /// A line's text, without its end.
    pub(crate) fn text(&self, line: usize) -> &'a str {
        let start = self.starts[line - 1];
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// Whether a comment on one of these lines says to leave a rule alone: `# oomph: ignore`, `# oomph: ignore[OOL001]`.
    pub(crate) fn ignores(&self, rule: Rule, first: usize, last: usize) -> bool {
        (first..=last).any(|line| {
            let Some((_, comment)) = self.text(line).split_once("# oomph: ignore") else { return false };
            match comment.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((ids, _)) => ids.split(',').any(|id| Rule::numbered(id.trim()) == Some(rule)),
                None => true,
            }
        })
    }
}
