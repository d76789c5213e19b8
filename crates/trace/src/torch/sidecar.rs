//! The dictionary of oomph's recorder, as it lies in the pickle.
//!
//! It is read in place and not consumed. A file may name one value many times, so the reader bounds how much it reads.

use super::records::{Record, Records, TorchHeap, TorchValue};
use crate::pickle::{NO_SLOT, Object, Value};
use crate::sidecar::Node;
use crate::text::TextId;

/// No dictionary of the recorder has more entries; of a larger one only the last ones are read.
const LARGEST: usize = 256;

/// A value, and what it refers to.
#[derive(Clone, Copy)]
pub(super) struct Plain<'a> {
    value: TorchValue,
    heap: &'a TorchHeap,
    records: &'a Records,
}

impl<'a> Plain<'a> {
    pub(super) fn new(value: TorchValue, heap: &'a TorchHeap, records: &'a Records) -> Plain<'a> {
        Plain { value: heap.current(value), heap, records }
    }

    /// Whether it can be the recorder's dictionary.
    pub(super) fn is_dict(self) -> bool {
        matches!(self.value, Value::Dict(_))
    }

    fn at(self, value: TorchValue) -> Plain<'a> {
        Plain::new(value, self.heap, self.records)
    }

    fn items(self) -> &'a [TorchValue] {
        let (Value::List(index) | Value::Tuple(index)) = self.value else { return &[] };
        match self.heap.object(index) {
            Object::List(items) | Object::Tuple(items) => items,
            Object::Dict(_) | Object::Frozen(_) | Object::Taken => &[],
        }
    }

    /// The field of a dictionary that became a frame.
    fn of_frame(self, key: &str) -> Option<TorchValue> {
        let Value::Record(Record::Frame(frame), _) = self.value else { return None };
        let frame = self.records.stacks.frame(frame);
        match key {
            "filename" => Some(Value::Text(frame.file)),
            "name" => Some(Value::Text(frame.function)),
            "line" => Some(Value::Int(i64::from(frame.line))),
            _ => None,
        }
    }
}

impl Node for Plain<'_> {
    fn entry(self, key: &str) -> Option<Self> {
        let Value::Dict(index) = self.value else { return self.of_frame(key).map(|value| self.at(value)) };
        let Object::Dict(items) = self.heap.object(index) else { return None };
        let is_key = |text: TextId| self.heap.texts.get(text) == key;
        let mut pairs = items.chunks_exact(2).rev().take(LARGEST);
        let found = pairs.find(|pair| matches!(pair[0], Value::Text(text) if is_key(text)));
        found.map(|pair| self.at(pair[1]))
    }

    fn count(self) -> usize {
        match self.value {
            Value::Record(Record::Stack(stack), _) => self.records.stacks.frames_of(stack).len(),
            Value::Record(Record::Pair(_), _) => 2,
            _ => self.items().len(),
        }
    }

    fn item(self, index: usize) -> Option<Self> {
        let value = match self.value {
            Value::Record(Record::Stack(stack), _) => {
                let frame = *self.records.stacks.frames_of(stack).get(index)?;
                Value::Record(Record::Frame(frame), NO_SLOT)
            }
            Value::Record(Record::Pair(pair), _) => {
                let pair = self.records.pools.pair_of(pair)?;
                Value::Big(*[pair.0, pair.1].get(index)?)
            }
            _ => *self.items().get(index)?,
        };
        Some(self.at(value))
    }

    fn integer(self) -> Option<u64> {
        self.value.as_u64()
    }

    fn number(self) -> Option<f64> {
        match self.value {
            Value::Float(number) => Some(number),
            Value::Int(number) => Some(number as f64),
            _ => None,
        }
    }

    fn boolean(self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self.value {
            Value::Text(text) => Some(self.heap.texts.get(text)),
            _ => None,
        }
    }
}
