//! The text of an excerpt, and searching it however its lines were wrapped.

use std::ops::Range;

/// Where a line of an excerpt lies in the input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Its number, from 1.
    pub number: u64,
    /// Its first byte.
    pub offset: u64,
}

/// Cleaned lines as one text.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// The lines, each ended by a line feed.
    pub flat: String,
    /// What stood in front of each line: a rank, a container, a time.
    pub prefixes: Vec<String>,
    starts: Vec<(usize, Origin)>,
}

impl Text {
    pub(super) fn push(&mut self, line: &str, prefix: String, origin: Origin) {
        self.starts.push((self.flat.len(), origin));
        self.prefixes.push(prefix);
        self.flat.push_str(line);
        self.flat.push('\n');
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The line, without its end.
    pub(super) fn line(&self, index: usize) -> &str {
        self.flat[self.span(index)].trim_end_matches('\n')
    }

    /// Where the line lies in the text.
    pub(super) fn span(&self, index: usize) -> Range<usize> {
        let end = self.starts.get(index + 1).map_or(self.flat.len(), |(start, _)| *start);
        self.starts[index].0..end
    }

    /// The line a position lies in.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|(start, _)| *start <= at).saturating_sub(1)
    }

    /// Where a position's line lies in the input.
    pub(super) fn origin(&self, at: usize) -> Origin {
        self.starts.get(self.line_of(at)).map_or(Origin { number: 1, offset: 0 }, |(_, origin)| *origin)
    }
}

/// Characters of logs, the frequent ones first.
const FREQUENT: &[u8] = b"0123456789. :-,/()[]'\"etaoinsrlcdmpuhgfbywvkxqzj_";

/// Where an ASCII phrase first occurs, whatever its case and wherever white space was put into it or left out:
/// terminals, mailers and notebooks wrap lines in the middle of words.
pub(super) fn find(text: &str, phrase: &str) -> Option<Range<usize>> {
    let (text, phrase) = (text.as_bytes(), phrase.as_bytes());
    // Its rarest character leads to the fewest places where it could be.
    let rarity = |byte: &u8| FREQUENT.iter().position(|known| *known == byte.to_ascii_lowercase());
    let rarest = (0..phrase.len()).max_by_key(|index| rarity(&phrase[*index]))?;
    let (lower, upper) = (phrase[rarest].to_ascii_lowercase(), phrase[rarest].to_ascii_uppercase());
    memchr::memchr2_iter(lower, upper, text).find_map(|at| {
        let end = at + reach(text[at..].iter(), phrase[rarest..].iter())?;
        let start = at - reach(text[..at].iter().rev(), phrase[..rarest].iter().rev())?;
        Some(start..end)
    })
}

/// How far the phrase reaches where a text starts with it.
pub(super) fn follows(text: &str, phrase: &str) -> Option<usize> {
    reach(text.as_bytes().iter(), phrase.as_bytes().iter())
}

fn reach<'a>(text: impl Iterator<Item = &'a u8>, phrase: impl Iterator<Item = &'a u8>) -> Option<usize> {
    let mut text = text.enumerate();
    let (mut end, mut letters) = (0, 0);
    for wanted in phrase.filter(|byte| !byte.is_ascii_whitespace()) {
        let (at, byte) = text.find(|(_, byte)| !byte.is_ascii_whitespace())?;
        (end, letters) = (at + 1, letters + 1);
        // An endless gap is no wrapped line.
        if !byte.eq_ignore_ascii_case(wanted) || end - letters > 400 {
            return None;
        }
    }
    Some(end)
}

/// The text behind the first occurrence of a phrase.
pub(super) fn after<'a>(text: &'a str, phrase: &str) -> Option<&'a str> {
    find(text, phrase).map(|found| &text[found.end..])
}

/// Every occurrence of a phrase.
pub(super) fn all<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let found = find(&text[from..], phrase)?;
        let found = found.start + from..found.end + from;
        from = found.end;
        Some(found)
    })
}

/// Whether a phrase occurs; one with a leading blank, where a word begins.
pub(super) fn has_word(text: &str, phrase: &str) -> bool {
    let begins = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    all(text, phrase).any(|found| !phrase.starts_with(' ') || begins(found.start))
}

/// The part of a text around a range, by so many bytes before and after it, cut at characters.
pub(super) fn around(text: &str, range: &Range<usize>, before: usize, after: usize) -> Range<usize> {
    let start = text.floor_char_boundary(range.start.saturating_sub(before));
    start..text.ceil_char_boundary((range.end + after).min(text.len()))
}
