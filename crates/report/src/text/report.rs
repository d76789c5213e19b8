//! A report for a terminal of 80 columns: a title, labelled paragraphs, and tables.

use std::borrow::Cow;
use std::fmt::Write as _;

use oomph_trace::Bytes;

use crate::breakdown::Breakdown;
use crate::printable;

/// The width text is wrapped to.
pub(super) const WIDTH: usize = 80;

/// How text is decorated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain.
    Off,
    /// With ANSI escapes.
    On,
}

impl Colour {
    /// A text with nothing in it that would do something to a terminal, but for the colours of a report.
    pub fn printable(self, text: &str) -> Cow<'_, str> {
        let own: &[&str] = match self {
            Colour::Off => &[],
            Colour::On => &["\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[0m"],
        };
        printable::shown(text, own)
    }

    /// The verdict.
    fn strong(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// What helps.
    pub(super) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// What failed.
    pub(super) fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Colour::Off => text.to_owned(),
            Colour::On => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// How a column is set: words to the left, numbers to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
    /// To the left, the last column, cut so that every row is one line.
    Cut,
    /// Not at all.
    Hidden,
}

/// The cells of a row of a table.
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($cell.to_string()),*] };
}
pub(super) use row;

/// A report under way.
pub(super) struct Report {
    pub(super) colour: Colour,
    out: String,
}

impl Report {
    /// A report that begins with these lines.
    pub(super) fn new(title: &str, colour: Colour) -> Report {
        Report { colour, out: title.lines().map(|line| colour.strong(line) + "\n").collect() }
    }

    /// The text of it. What is foreign in it does nothing to a terminal.
    pub(super) fn finish(self) -> String {
        self.colour.printable(&self.out).into_owned()
    }

    /// How long it is so far.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Takes back what came after it was this long.
    pub(super) fn shorten(&mut self, length: usize) {
        self.out.truncate(length);
    }

    /// A line of its own, as it is.
    pub(super) fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// An empty line.
    pub(super) fn gap(&mut self) {
        self.out.push('\n');
    }

    /// The heading of a table.
    pub(super) fn heading(&mut self, text: &str) {
        self.line(&format!("  {text}"));
    }

    /// A labelled paragraph: the label in a column of its own, the text wrapped beside it.
    pub(super) fn say(&mut self, label: &str, text: impl AsRef<str>) {
        const INDENT: usize = 11;
        for (index, line) in wrapped(text.as_ref(), WIDTH - INDENT).into_iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let _ = writeln!(self.out, "  {label:<9}{line}");
        }
    }

    /// Several labelled paragraphs.
    pub(super) fn say_all<S: AsRef<str>>(&mut self, paragraphs: impl IntoIterator<Item = (&'static str, S)>) {
        paragraphs.into_iter().for_each(|(label, text)| self.say(label, text));
    }

    /// Parts under their heading, and what they add up to.
    pub(super) fn breakdown(&mut self, all: &Breakdown) {
        self.heading(&all.heading);
        let mut rows: Vec<Vec<String>> = Vec::new();
        for part in &all.parts {
            rows.push(row!["", part.bytes, part.what]);
            // Further in, so that nobody adds them up.
            rows.extend(part.inner.iter().map(|(bytes, what)| row!["", "", format!("  {bytes} {what}")]));
        }
        rows.push(row!["=", all.total, all.source]);
        self.table(2, &[Align::Right, Align::Right, Align::Left], &rows);
    }

    /// The amounts that are known, each with what it is, under a heading; nothing where none is known.
    pub(super) fn figures(&mut self, heading: &str, figures: &[(Option<Bytes>, &str)]) {
        let rows: Vec<_> = figures.iter().filter_map(|(bytes, what)| Some(row![(*bytes)?, what])).collect();
        if !rows.is_empty() {
            self.gap();
            self.heading(heading);
            self.table(4, &[Align::Right, Align::Left], &rows);
        }
    }

    /// Rows of cells in aligned columns, two spaces apart, each line indented by `indent`. Where the last cell makes a
    /// line too long, it goes on below itself, broken after a comma or at a space.
    pub(super) fn table(&mut self, indent: usize, columns: &[Align], rows: &[Vec<String>]) {
        let shown: Vec<usize> = (0..columns.len()).filter(|n| columns[*n] != Align::Hidden).collect();
        let widest = |n: usize| rows.iter().map(|row| row[n].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns.len()).map(widest).collect();
        let last = *shown.last().expect("a table has columns");
        let begins = indent + shown.iter().filter(|n| **n != last).map(|n| widths[*n] + 2).sum::<usize>();
        let room = WIDTH.saturating_sub(begins).max(1);
        for row in rows {
            let set = |n: &usize| match (columns[*n], &row[*n], widths[*n]) {
                (Align::Cut, cell, _) => cut(cell, room, '…'),
                (Align::Left, cell, _) if *n == last => {
                    broken(cell, room).join(&format!("\n{}", " ".repeat(begins)))
                }
                (Align::Left | Align::Hidden, cell, width) => format!("{cell:<width$}"),
                (Align::Right, cell, width) => format!("{cell:>width$}"),
            };
            let cells: Vec<String> = shown.iter().map(set).collect();
            self.line(format!("{}{}", " ".repeat(indent), cells.join("  ")).trim_end());
        }
    }
}

/// The first characters of a text, with this sign where there are more.
pub(super) fn cut(text: &str, room: usize, sign: char) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain([sign]).collect()
}

/// Lines of at most `width` characters, broken at spaces but not before a unit; a longer word stands alone, uncut.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit =
            ["B", "KiB", "MiB", "GiB"].contains(&word.trim_end_matches(|c: char| !c.is_alphabetic()));
        match words.last_mut().filter(|_| is_unit) {
            Some(number) => *number += &format!(" {word}"),
            None => words.push(word.to_owned()),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                *line += &format!(" {word}");
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Pieces of at most `width` characters, broken after commas and at spaces.
fn broken(cell: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in cell.split_inclusive([',', ' ']) {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + piece.trim_end().chars().count() > width {
            lines.push(piece.to_owned());
        } else {
            line.push_str(piece);
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_never_cut() {
        assert_eq!(wrapped("a bb /a/very/long/path c", 6), ["a bb", "/a/very/long/path", "c"]);
        assert_eq!(wrapped("largest 14.00 MiB), then", 13), ["largest", "14.00 MiB),", "then"]);
    }
}
