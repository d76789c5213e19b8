//! From a log of any size to the few excerpts that may hold a report. Memory is bounded by the excerpt, time is linear.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use super::clean;
use super::tables::{CLASSES, NEXT, SIGNS};
use super::text::{Origin, Text};

/// Lines longer than this are read in pieces.
const PIECE: usize = 16 << 10;
/// Lines kept from before a line that may matter: a traceback comes before its message.
const BEFORE: usize = 160;
/// Lines kept after it: the numbers may follow on lines of their own.
const AFTER: usize = 60;
/// Lines over which the beginning of a message may be wrapped.
const WRAPPED: usize = 3;
/// An excerpt is closed at this size, however many of its lines may matter.
const EXCERPT: usize = 1 << 20;

/// How much was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of input.
    pub bytes: u64,
    /// Lines of input.
    pub lines: u64,
}

/// A stretch of the input.
#[derive(Debug)]
pub(super) struct Excerpt {
    /// All of it.
    pub text: Text,
    /// Where the first line that may matter begins; before it there is only what led there.
    pub from: usize,
}

#[derive(Debug)]
struct Raw {
    origin: Origin,
    bytes: Vec<u8>,
}

/// Calls `each` with every excerpt, in order.
pub(super) fn excerpts(input: impl BufRead, each: impl FnMut(&Excerpt)) -> io::Result<Extent> {
    let mut collector = Collector { recent: VecDeque::with_capacity(BEFORE), open: None, each };
    let extent = pieces(input, |origin, line| collector.take(origin, line))?;
    collector.close();
    Ok(extent)
}

/// Calls `each` with every non-empty line, long ones in pieces.
fn pieces(mut input: impl BufRead, mut each: impl FnMut(Origin, &[u8])) -> io::Result<Extent> {
    let mut extent = Extent::default();
    let mut origin = Origin { number: 1, offset: 0 };
    let mut carry: Vec<u8> = Vec::new();
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            break;
        }
        let length = buffer.len();
        let mut rest = buffer;
        while !rest.is_empty() {
            let room = PIECE.saturating_sub(carry.len()).max(1).min(rest.len());
            let found = memchr::memchr2(b'\n', b'\r', &rest[..room]);
            let (part, used) = match found {
                Some(end) => (&rest[..end], end + 1),
                None => (&rest[..room], room),
            };
            let is_line_feed = found.is_some_and(|end| rest[end] == b'\n');
            rest = &rest[used..];
            extent.bytes += used as u64;
            if found.is_some() && carry.is_empty() {
                give(origin, part, &mut each);
            } else {
                carry.extend_from_slice(part);
                if found.is_some() {
                    give(origin, &carry, &mut each);
                    carry.clear();
                } else if carry.len() >= PIECE {
                    // Cut between words, so that no number is cut in two.
                    let cut =
                        memchr::memrchr(b' ', &carry[PIECE / 2..]).map_or(carry.len(), |at| at + PIECE / 2);
                    give(origin, &carry[..cut], &mut each);
                    carry.drain(..cut);
                    origin.offset = extent.bytes - carry.len() as u64;
                    continue;
                } else {
                    continue;
                }
            }
            origin.number += u64::from(is_line_feed);
            origin.offset = extent.bytes;
        }
        input.consume(length);
    }
    give(origin, &carry, &mut each);
    extent.lines = origin.number - u64::from(carry.is_empty() && origin.number > 1);
    Ok(extent)
}

/// Text in two-byte characters has a zero in each; what it says is the rest.
fn give(origin: Origin, line: &[u8], each: &mut impl FnMut(Origin, &[u8])) {
    if memchr::memchr(0, line).is_some() {
        let line: Vec<u8> = line.iter().copied().filter(|byte| *byte != 0).collect();
        if !line.is_empty() {
            each(origin, &line);
        }
    } else if !line.is_empty() {
        each(origin, line);
    }
}

/// Lines that may matter, with those around them.
struct Collector<F> {
    recent: VecDeque<Raw>,
    open: Option<Open>,
    each: F,
}

struct Open {
    lines: Vec<Raw>,
    first: usize,
    last: usize,
    bytes: usize,
}

impl<F: FnMut(&Excerpt)> Collector<F> {
    fn take(&mut self, origin: Origin, line: &[u8]) {
        let matters = may_matter(line);
        if self.open.is_none() && matters {
            let lines: Vec<Raw> = self.recent.drain(..).collect();
            let first = lines.len();
            self.open = Some(Open { lines, first, last: first, bytes: 0 });
        }
        let Some(open) = &mut self.open else { return self.remember(origin, line) };
        if matters {
            open.last = open.lines.len();
            if is_listing(line) {
                return;
            }
        }
        open.bytes += line.len();
        open.lines.push(Raw { origin, bytes: line.to_vec() });
        if open.lines.len() - open.last > AFTER || open.bytes > EXCERPT {
            self.close();
        }
    }

    /// Keeps a line for the excerpt that may begin soon. Its buffer is that of the line it pushes out.
    fn remember(&mut self, origin: Origin, line: &[u8]) {
        let mut bytes = if self.recent.len() == BEFORE {
            self.recent.pop_front().map(|raw| raw.bytes).unwrap_or_default()
        } else {
            Vec::new()
        };
        bytes.clear();
        bytes.extend_from_slice(line);
        self.recent.push_back(Raw { origin, bytes });
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let mut text = Text::default();
        let mut from = 0;
        for (index, raw) in open.lines.iter().enumerate() {
            // A wrapped message may begin on a line without a sign.
            if index == open.first.saturating_sub(WRAPPED) {
                from = text.flat.len();
            }
            for line in clean::lines(&raw.bytes) {
                text.push(&line.text, line.prefix, raw.origin);
            }
        }
        (self.each)(&Excerpt { text, from });
        for raw in open.lines.into_iter().skip(open.last + 1) {
            self.remember(raw.origin, &raw.bytes);
        }
    }
}

/// Whether a line has the fixed words of a sign.
fn may_matter(line: &[u8]) -> bool {
    let mut state = 0;
    for byte in line {
        state = u32::from_le_bytes(NEXT[state as usize + usize::from(CLASSES[usize::from(*byte)])]);
        if state == u32::MAX {
            return true;
        }
    }
    false
}

/// Whether a line is one of tens of thousands that a message does not need.
fn is_listing(line: &[u8]) -> bool {
    let mut skips = SIGNS.iter().flat_map(|sign| sign.skips);
    skips.any(|part| memchr::memmem::find(line, part.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use toml::Table;

    use super::*;

    #[test]
    fn a_line_of_every_example_may_matter() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/message/signs");
        for file in std::fs::read_dir(folder).expect("the table of signs") {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
            let table: Table = text.parse().expect("TOML");
            for sign in table["sign"].as_array().expect("rows") {
                for example in sign["example"].as_array().expect("examples") {
                    let text = example["text"].as_str().expect("text");
                    assert!(text.lines().any(|line| may_matter(line.as_bytes())), "{text}");
                }
            }
        }
        assert!(!may_matter(b"INFO epoch 1, loss 0.5, GPU memory 10.2 GiB of 24 GiB"));
    }
}
