//! What the opcodes work on: the stack, its marks, the memo.

use super::Shapes;
use super::heap::Heap;
use super::opcode as op;
use super::runs::Runs;
use super::value::{Kind, NO_SLOT, Object, Value};
use crate::text::{TextId, Texts};

/// The state of a machine between two opcodes.
///
/// Errors say what is wrong; only the caller knows where.
pub(super) struct State<S: Shapes> {
    pub(super) stack: Vec<Value<S::Record>>,
    /// How high the stack was at each open MARK.
    marks: Vec<usize>,
    pub(super) heap: Heap<S::Record>,
    pub(super) shapes: S,
    pub(super) runs: Runs<S::Record>,
    /// Recent texts of up to seven bytes, by their [`short_key`]: every event repeats some.
    short_texts: [(u64, TextId); 64],
}

impl<S: Shapes> State<S> {
    pub(super) fn new(mut texts: Texts, shapes: S) -> State<S> {
        let empty = texts.intern("");
        State {
            stack: Vec::new(),
            marks: Vec::new(),
            heap: Heap::new(texts),
            shapes,
            runs: Runs::default(),
            short_texts: [(0, empty); 64],
        }
    }

    /// Pushes a text of any length. Bytes that are not UTF-8 are replaced.
    pub(super) fn push_text(&mut self, text: &[u8]) {
        let id = self.heap.texts.intern(&String::from_utf8_lossy(text));
        self.stack.push(Value::Text(id));
    }

    /// Pushes a text that is probably short and was seen before.
    #[inline]
    pub(super) fn push_short_text(&mut self, text: &[u8]) {
        if text.len() > 7 {
            return self.push_text(text);
        }
        let key = short_key(text);
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        if self.short_texts[place].0 != key {
            let id = self.heap.texts.intern(&String::from_utf8_lossy(text));
            self.short_texts[place] = (key, id);
        }
        self.stack.push(Value::Text(self.short_texts[place].1));
    }

    /// Opens a mark; `bytes` follow it. Returns how many of them were used.
    #[inline]
    pub(super) fn mark(&mut self, bytes: &[u8]) -> usize {
        if let (Some(Value::Empty(Kind::List, _)), Some(&(op::BINGET | op::LONG_BINGET))) =
            (self.stack.last(), bytes.first())
        {
            return self.list_of_references(bytes);
        }
        self.open_mark();
        0
    }

    #[inline]
    pub(super) fn open_mark(&mut self) {
        self.marks.push(self.stack.len());
    }

    /// Puts back a mark that was taken away.
    pub(super) fn reopen_mark(&mut self, start: usize) {
        self.marks.push(start);
    }

    /// Takes the last MARK away and returns how high the stack was there.
    #[inline]
    pub(super) fn unmark(&mut self) -> Result<usize, &'static str> {
        self.marks.pop().ok_or("a mark is missing")
    }

    /// Values below here belong to an open MARK.
    #[inline]
    pub(super) fn fence(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    /// Where the stack's last `count` values begin.
    #[inline]
    pub(super) fn top(&self, count: usize) -> Result<usize, &'static str> {
        match self.stack.len().checked_sub(count) {
            Some(start) if start >= self.fence() => Ok(start),
            _ => Err("a value is missing"),
        }
    }

    pub(super) fn pop(&mut self) -> Result<Value<S::Record>, &'static str> {
        self.top(1)?;
        self.stack.pop().ok_or("a value is missing")
    }

    /// Takes away the topmost value, or the mark that lies above it.
    pub(super) fn discard(&mut self) -> Result<(), &'static str> {
        if self.stack.len() > self.fence() {
            self.stack.pop();
            Ok(())
        } else {
            self.unmark().map(drop)
        }
    }

    /// No pickler duplicates a container, and a copy without a memo slot would not follow its changes.
    pub(super) fn dup(&mut self) -> Result<(), &'static str> {
        let value = self.stack[self.top(1)?];
        if matches!(value, Value::Empty(_, NO_SLOT) | Value::Record(_, NO_SLOT)) {
            return Err("a container is duplicated");
        }
        self.stack.push(value);
        Ok(())
    }

    /// Makes a tuple of the stack's values from `start` on.
    pub(super) fn tuple(&mut self, start: usize) {
        let items = &self.stack[start..];
        let value = match self.shapes.tuple(items) {
            Some(record) => Value::Record(record, NO_SLOT),
            None => Value::Tuple(self.heap.add(Object::Tuple(items.to_vec()))),
        };
        self.stack.truncate(start);
        self.stack.push(value);
    }

    /// Pushes what lies in a memo slot.
    #[inline]
    pub(super) fn get(&mut self, slot: u32) -> Result<(), &'static str> {
        self.heap.memo.push(slot, &mut self.stack)
    }

    #[inline]
    pub(super) fn memoize(&mut self) -> Result<(), &'static str> {
        self.put(self.heap.memo.next_slot())
    }

    /// Puts the topmost value into the memo. A container learns its slot.
    #[inline]
    pub(super) fn put(&mut self, slot: u32) -> Result<(), &'static str> {
        let place = self.top(1)?;
        let value = &mut self.stack[place];
        if let Value::Text(text) = *value {
            return self.heap.memo.put(slot, Value::Text(text));
        }
        if value.slot() == NO_SLOT {
            *value = value.with_slot(slot);
        }
        self.heap.memo.put(slot, *value)
    }

    /// Pushes an empty container that is put into the memo at once.
    #[inline]
    pub(super) fn push_memoized(&mut self, kind: Kind) -> Result<(), &'static str> {
        let slot = self.heap.memo.put_empty(kind)?;
        self.stack.push(Value::Empty(kind, slot));
        Ok(())
    }

    /// How much is held, counted in values of 16 bytes.
    pub(super) fn held(&self) -> u64 {
        (self.stack.len() + self.marks.len()) as u64 + self.heap.held() + self.shapes.held()
    }

    /// What there are too many of for 32-bit numbers, if anything.
    pub(super) fn overfull(&self) -> Option<&'static str> {
        self.heap.overfull().or_else(|| self.shapes.overfull())
    }
}

/// A text of up to seven bytes and its length as one number. Only the empty text gives 0.
#[inline]
fn short_key(text: &[u8]) -> u64 {
    text.iter().rev().fold(0, |key, &byte| key << 8 | u64::from(byte)) << 8 | text.len() as u64
}
