//! The memo: what the pickle refers back to.
//!
//! Every text, list and dict of a pickle gets a slot; a snapshot has several million, and few are ever read again. So a
//! slot takes five bytes instead of the sixteen of a value.

use super::value::{Kind, NO_SLOT, Value};
use crate::text::TextId;

/// A record as a number, for the memo.
pub(crate) trait Pack: Copy {
    /// The record in one byte, less than [`MAX_KIND`], and 32 bits.
    fn pack(self) -> (u8, u32);
    /// The record that was packed.
    fn unpack(kind: u8, id: u32) -> Self;
}

/// How many kinds of records there may be.
pub(crate) const MAX_KIND: u8 = 16;

/// How far an index may run ahead of the number of puts. Picklers count up from 0 or 1.
const SLACK: u32 = 1 << 16;

/// Values by slot. A slot is written once; later it only follows its container when that changes its form. So a
/// container's value can name its slot.
#[derive(Debug)]
pub(super) struct Memo<R> {
    /// What each slot holds: one of the numbers below. From [`RECORD`] on it is a record's kind.
    tags: Vec<u8>,
    ids: Vec<u32>,
    /// Values that do not fit into five bytes.
    wide: Vec<Value<R>>,
    /// How many slots are in use.
    puts: u32,
}

const NOTHING: &str = "an empty memo slot is read";

const ABSENT: u8 = 0;
const NONE: u8 = 1;
const OPAQUE: u8 = 2;
const TEXT: u8 = 3;
const EMPTY_LIST: u8 = 4;
const EMPTY_DICT: u8 = 5;
const LIST: u8 = 6;
const DICT: u8 = 7;
const TUPLE: u8 = 8;
/// The id is an index into `wide`.
const WIDE: u8 = 9;
const RECORD: u8 = 16;

impl<R: Pack> Memo<R> {
    pub(super) fn new() -> Memo<R> {
        Memo { tags: Vec::new(), ids: Vec::new(), wide: Vec::new(), puts: 0 }
    }

    /// How much it holds, counted in values of 16 bytes.
    pub(super) fn held(&self) -> u64 {
        self.tags.len() as u64 / 2 + self.wide.len() as u64
    }

    /// How many slots there are.
    pub(super) fn len(&self) -> usize {
        self.tags.len()
    }

    /// The slot the MEMOIZE opcode means.
    #[inline]
    pub(super) fn next_slot(&self) -> u32 {
        self.puts
    }

    /// What lies in a slot.
    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<Value<R>> {
        let id = *self.ids.get(slot as usize)?;
        Some(match *self.tags.get(slot as usize)? {
            ABSENT => return None,
            NONE => Value::None,
            OPAQUE => Value::Opaque,
            TEXT => Value::Text(TextId(id)),
            EMPTY_LIST => Value::Empty(Kind::List, slot),
            EMPTY_DICT => Value::Empty(Kind::Dict, slot),
            LIST => Value::List(id),
            DICT => Value::Dict(id),
            TUPLE => Value::Tuple(id),
            WIDE => return self.wide.get(id as usize).copied(),
            kind => Value::Record(R::unpack(kind.wrapping_sub(RECORD), id), slot),
        })
    }

    /// Pushes what lies in a slot onto `stack`. Values are made in their final place: copying one right after it was
    /// made stalls the processor.
    #[inline(always)]
    pub(super) fn push(&self, slot: u32, stack: &mut Vec<Value<R>>) -> Result<(), &'static str> {
        let (Some(&id), Some(&tag)) = (self.ids.get(slot as usize), self.tags.get(slot as usize)) else {
            return Err(NOTHING);
        };
        match tag {
            TEXT => stack.push(Value::Text(TextId(id))),
            RECORD.. => stack.push(Value::Record(R::unpack(tag - RECORD, id), slot)),
            _ => stack.push(self.get(slot).ok_or(NOTHING)?),
        }
        Ok(())
    }

    /// Puts an empty container into the next slot and returns that slot.
    #[inline]
    pub(super) fn put_empty(&mut self, kind: Kind) -> Result<u32, &'static str> {
        let slot = self.puts;
        if slot as usize == self.tags.len() {
            self.tags.push(match kind {
                Kind::List => EMPTY_LIST,
                Kind::Dict => EMPTY_DICT,
            });
            self.ids.push(0);
            self.puts += 1;
        } else {
            self.put(slot, Value::Empty(kind, slot))?;
        }
        Ok(slot)
    }

    /// Puts a value into an empty slot.
    #[inline]
    pub(super) fn put(&mut self, slot: u32, value: Value<R>) -> Result<(), &'static str> {
        let (tag, id) = self.pack(slot, &value);
        if slot as usize == self.tags.len() {
            self.tags.push(tag);
            self.ids.push(id);
        } else {
            self.make_room(slot)?;
            self.tags[slot as usize] = tag;
            self.ids[slot as usize] = id;
        }
        self.puts += 1;
        Ok(())
    }

    /// Puts a container's changed form into its slot.
    #[inline]
    pub(super) fn patch(&mut self, slot: u32, value: Value<R>) {
        if (slot as usize) < self.tags.len() {
            let (tag, id) = self.pack(slot, &value);
            self.tags[slot as usize] = tag;
            self.ids[slot as usize] = id;
        }
    }

    /// Puts the record that a container has become into its slot.
    #[inline]
    pub(super) fn patch_record(&mut self, slot: u32, record: R) {
        let index = slot as usize;
        if let (Some(tag), Some(id)) = (self.tags.get_mut(index), self.ids.get_mut(index)) {
            let (kind, number) = record.pack();
            *tag = RECORD + kind % MAX_KIND;
            *id = number;
        }
    }

    fn make_room(&mut self, slot: u32) -> Result<(), &'static str> {
        if slot > self.puts.saturating_add(SLACK) {
            return Err("a memo index runs far ahead of the memo");
        }
        let index = slot as usize;
        if index >= self.tags.len() {
            self.tags.resize(index + 1, ABSENT);
            self.ids.resize(index + 1, 0);
        }
        if self.tags[index] == ABSENT { Ok(()) } else { Err("a memo slot is written twice") }
    }

    #[inline]
    fn pack(&mut self, slot: u32, value: &Value<R>) -> (u8, u32) {
        match *value {
            Value::Text(text) => (TEXT, text.0),
            Value::Empty(Kind::List, own) if own == slot => (EMPTY_LIST, 0),
            Value::Empty(Kind::Dict, own) if own == slot => (EMPTY_DICT, 0),
            Value::Record(record, own) if own == slot || own == NO_SLOT => {
                let (kind, id) = record.pack();
                (RECORD + kind % MAX_KIND, id)
            }
            Value::List(id) => (LIST, id),
            Value::Dict(id) => (DICT, id),
            Value::Tuple(id) => (TUPLE, id),
            Value::None => (NONE, 0),
            Value::Opaque => (OPAQUE, 0),
            Value::Bool(_)
            | Value::Int(_)
            | Value::Big(_)
            | Value::Float(_)
            | Value::Empty(..)
            | Value::Record(..) => {
                self.wide.push(*value);
                (WIDE, (self.wide.len() - 1) as u32)
            }
        }
    }
}
