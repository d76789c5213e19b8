//! A window that slides over the file.

use std::io::{ErrorKind, Read};

use super::source::Source;
use crate::error::ReadError;

/// How much of the file is in memory at once: small enough for the processor's cache.
const WINDOW: usize = 256 << 10;

/// How many bytes can be read beyond the file's end, so that an opcode and its operand need one check.
pub(super) const MARGIN: usize = 16;

/// The part of the file that is being read.
pub(super) struct Input<R: Read> {
    source: Source<R>,
    window: Box<[u8]>,
    /// The next byte, as an index into the window.
    pos: usize,
    /// Where the window's bytes end.
    end: usize,
    /// How many bytes of the file lie before the window.
    before: u64,
    exhausted: bool,
    /// Whether the packed file is cut off.
    cut: bool,
}

impl<R: Read> Input<R> {
    pub(super) fn open(input: R) -> Result<Input<R>, ReadError> {
        let source = Source::open(input).map_err(|source| ReadError::Io { at: 0, source })?;
        let window = vec![0; WINDOW + MARGIN].into_boxed_slice();
        Ok(Input { source, window, pos: 0, end: 0, before: 0, exhausted: false, cut: false })
    }

    /// The place of the next byte in the unpacked file.
    pub(super) fn at(&self) -> u64 {
        self.before + self.pos as u64
    }

    /// The bytes that lie in the window.
    pub(super) fn ahead(&self) -> &[u8] {
        &self.window[self.pos..self.end]
    }

    /// The bytes in the window, and [`MARGIN`] more without meaning.
    pub(super) fn ahead_and_margin(&self) -> &[u8] {
        &self.window[self.pos..self.end + MARGIN]
    }

    /// How many bytes lie in the window.
    pub(super) fn len(&self) -> usize {
        self.end - self.pos
    }

    /// Moves on by `count` bytes, or to the end of the window.
    pub(super) fn skip(&mut self, count: usize) {
        self.pos = self.end.min(self.pos + count);
    }

    /// How many bytes of the stored file were read.
    pub(super) fn stored(&self) -> u64 {
        self.source.stored()
    }

    /// Whether every byte of the file lies in the window or before it.
    pub(super) fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// Moves the window, so that it begins with the next byte and is full unless the file ends.
    pub(super) fn slide(&mut self) -> Result<(), ReadError> {
        self.window.copy_within(self.pos..self.end, 0);
        self.before += self.pos as u64;
        self.end -= self.pos;
        self.pos = 0;
        while self.end < WINDOW && !self.exhausted {
            match self.source.read(&mut self.window[self.end..WINDOW]) {
                Ok(0) => self.exhausted = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof && self.source.is_packed() => {
                    // What could be unpacked is read first, so that the error names the place.
                    self.exhausted = true;
                    self.cut = true;
                }
                Err(source) => return Err(ReadError::Io { at: self.before + self.end as u64, source }),
            }
        }
        Ok(())
    }

    /// Reads a packed file to its end, so that its checksum is checked.
    pub(super) fn finish(&mut self) -> Result<(), ReadError> {
        if self.source.is_packed() {
            self.slide()?;
        }
        match self.cut {
            true => Err(ReadError::Truncated { at: self.at(), inside: "the packed file's checksum" }),
            false => Ok(()),
        }
    }
}
