//! Colour, tables and wrapping for a terminal of 80 columns.

use std::fmt::Write as _;

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
    /// The verdict.
    pub(super) fn strong(self, text: &str) -> String {
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

/// Lines of at most `width` characters, broken at spaces but not before a unit; a longer word stands alone, uncut.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit =
            ["B", "KiB", "MiB", "GiB"].contains(&word.trim_end_matches(|c: char| !c.is_alphabetic()));
        match words.last_mut().filter(|_| is_unit) {
            Some(number) => {
                number.push(' ');
                number.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// A labelled paragraph: the label in a column of its own, the text wrapped beside it.
pub(super) fn paragraph(out: &mut String, label: &str, text: &str) {
    const INDENT: usize = 11;
    for (index, line) in wrapped(text, WIDTH - INDENT).into_iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        let _ = writeln!(out, "  {label:<9}{line}");
    }
}

/// Which way a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells in aligned columns, two spaces apart, each line indented by `indent`. Where the last cell makes a
/// line too long, it goes on below itself, broken after a comma or at a space.
pub(super) fn table(out: &mut String, indent: usize, columns: &[Align], rows: &[Vec<String>]) {
    let visible = |cell: &str| cell.chars().count();
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| visible(cell)).max().unwrap_or(0)
        })
        .collect();
    let last = columns.len() - 1;
    let begins = indent + widths[..last].iter().map(|width| width + 2).sum::<usize>();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column].saturating_sub(visible(cell)));
            if column > 0 {
                line.push_str("  ");
            }
            match columns[column] {
                Align::Left if column == last => {
                    line.push_str(&broken(cell, WIDTH - begins).join(&format!("\n{}", " ".repeat(begins))));
                }
                Align::Left => line.push_str(&format!("{cell}{pad}")),
                Align::Right => line.push_str(&format!("{pad}{cell}")),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
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
