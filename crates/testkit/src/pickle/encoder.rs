//! Opcodes, as CPython's pickler and PyTorch's C++ pickler choose them.

use std::io::{self, Write};

/// Whose pickler to imitate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `pickle.dump` of CPython with this protocol, 2 to 5: containers enter the memo before they are filled,
    /// lists are filled a thousand at a time, protocols 4 and 5 come in frames.
    Python {
        /// The protocol.
        protocol: u8,
    },
    /// PyTorch's C++ pickler: protocol 2, texts memoised by value, containers when they are filled, no batches.
    Cpp,
}

/// CPython ends a frame before the first object that would begin beyond this.
const FRAME_TARGET: usize = 64 << 10;
/// How many items CPython appends at once.
const BATCH: usize = 1000;

/// A place in the memo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memo(u32);

/// Writes opcodes.
pub(super) struct Encoder<W> {
    out: W,
    style: Style,
    /// The current frame; without frames, what is not written yet.
    pending: Vec<u8>,
    memoised: u32,
    /// The first failure to write. It is returned when the next container is closed.
    failed: io::Result<()>,
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(mut out: W, style: Style) -> io::Result<Encoder<W>> {
        let protocol = match style {
            Style::Python { protocol: protocol @ 2..=5 } => protocol,
            Style::Python { .. } => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "protocols are 2 to 5"));
            }
            Style::Cpp => 2,
        };
        out.write_all(&[0x80, protocol])?;
        let pending = Vec::with_capacity(FRAME_TARGET * 2);
        Ok(Encoder { out, style, pending, memoised: 0, failed: Ok(()) })
    }

    /// Ends the pickle.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.failed?;
        self.failed = Ok(());
        self.pending.push(b'.');
        self.flush_frame()?;
        self.out.flush()
    }

    fn frames(&self) -> bool {
        matches!(self.style, Style::Python { protocol: 4.. })
    }

    fn flush_frame(&mut self) -> io::Result<()> {
        // CPython gives the smallest frames no header.
        if self.frames() && self.pending.len() >= 4 {
            self.out.write_all(&[0x95])?;
            self.out.write_all(&(self.pending.len() as u64).to_le_bytes())?;
        }
        self.out.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }

    /// Before an object: the place where a frame may end.
    fn object(&mut self) {
        if self.pending.len() >= FRAME_TARGET {
            let written = self.flush_frame();
            if self.failed.is_ok() {
                self.failed = written;
            }
        }
    }

    fn memoise(&mut self) -> Memo {
        let memo = self.memoised;
        self.memoised += 1;
        if self.frames() {
            self.pending.push(0x94);
        } else if let Ok(short) = u8::try_from(memo) {
            self.pending.extend([b'q', short]);
        } else {
            self.pending.push(b'r');
            self.pending.extend(memo.to_le_bytes());
        }
        Memo(memo)
    }

    /// An object that was written before.
    pub(super) fn again(&mut self, memo: Memo) {
        self.object();
        if let Ok(short) = u8::try_from(memo.0) {
            self.pending.extend([b'h', short]);
        } else {
            let [a, b, c, d] = memo.0.to_le_bytes();
            self.pending.extend([b'j', a, b, c, d]);
        }
    }

    /// A text. It goes into the memo.
    pub(super) fn text(&mut self, text: &str) -> Memo {
        self.object();
        match u8::try_from(text.len()) {
            Ok(short) if self.frames() => self.pending.extend([0x8c, short]),
            _ => {
                self.pending.push(b'X');
                self.pending.extend((text.len() as u32).to_le_bytes());
            }
        }
        self.pending.extend(text.as_bytes());
        self.memoise()
    }

    pub(super) fn int(&mut self, n: i128) {
        self.object();
        if let Ok(n) = u8::try_from(n) {
            self.pending.extend([b'K', n]);
        } else if let Ok(n) = u16::try_from(n) {
            self.pending.push(b'M');
            self.pending.extend(n.to_le_bytes());
        } else if let Ok(n) = i32::try_from(n) {
            self.pending.push(b'J');
            self.pending.extend(n.to_le_bytes());
        } else {
            let bytes = n.to_le_bytes();
            // CPython writes as few bytes as keep the sign; the C++ pickler writes eight if they are enough.
            let fits = |length: usize| n >= -(1 << (8 * length - 1)) && n < 1 << (8 * length - 1);
            let least = (1..=16).find(|length| *length == 16 || fits(*length)).unwrap_or(16);
            let length = if self.style == Style::Cpp { least.max(8) } else { least };
            self.pending.extend([0x8a, length as u8]);
            self.pending.extend(&bytes[..length]);
        }
    }

    pub(super) fn none(&mut self) {
        self.object();
        self.pending.push(b'N');
    }

    pub(super) fn boolean(&mut self, value: bool) {
        self.object();
        self.pending.push(if value { 0x88 } else { 0x89 });
    }

    pub(super) fn float(&mut self, value: f64) {
        self.object();
        self.pending.push(b'G');
        self.pending.extend(value.to_be_bytes());
    }

    /// A tuple of two integers.
    pub(super) fn pair(&mut self, a: u64, b: u64) {
        self.object();
        self.int(a.into());
        self.int(b.into());
        self.pending.push(0x86);
        if self.style != Style::Cpp {
            self.memoise();
        }
    }

    /// Begins a dict of `items` pairs, at most a thousand.
    pub(super) fn open_dict(&mut self, items: usize) -> Container {
        self.open(b'}', items)
    }

    /// Ends a dict whose `items` pairs were written.
    pub(super) fn close_dict(&mut self, container: Container) -> io::Result<Memo> {
        self.close(container, b's', b'u')
    }

    /// Begins a list of `items` items.
    pub(super) fn open_list(&mut self, items: usize) -> Container {
        self.open(b']', items)
    }

    /// Before the n-th item of a list of `items`.
    pub(super) fn item(&mut self, n: usize, items: usize) {
        if self.style != Style::Cpp && items > 1 && n > 0 && n.is_multiple_of(BATCH) {
            self.pending.extend([b'e', b'(']);
        }
    }

    /// Ends a list whose items were written.
    pub(super) fn close_list(&mut self, container: Container) -> io::Result<Memo> {
        self.close(container, b'a', b'e')
    }

    fn open(&mut self, empty: u8, items: usize) -> Container {
        self.object();
        self.pending.push(empty);
        let memo = (self.style != Style::Cpp).then(|| self.memoise());
        if items > 1 || (items == 1 && self.style == Style::Cpp) {
            self.pending.push(b'(');
        }
        Container { items, memo }
    }

    fn close(&mut self, container: Container, one: u8, many: u8) -> io::Result<Memo> {
        let Container { items, memo } = container;
        match items {
            0 => {}
            1 if self.style != Style::Cpp => self.pending.push(one),
            _ => self.pending.push(many),
        }
        std::mem::replace(&mut self.failed, Ok(()))?;
        Ok(memo.unwrap_or_else(|| self.memoise()))
    }
}

/// A container that is being filled.
#[derive(Clone, Copy)]
#[must_use]
pub(super) struct Container {
    items: usize,
    memo: Option<Memo>,
}
