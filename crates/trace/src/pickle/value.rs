//! The values a pickle builds, and where their contents lie.

use super::memo::{Memo, Pack};
use crate::text::{TextId, Texts};

/// Stands for: has no memo slot.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// What an empty container will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    List,
    Dict,
}

/// One value on the machine's stack, in its memo or in a container: 16 bytes.
///
/// Containers that may still change know the memo slot through which the pickle refers to them. What counts is the
/// value in that slot: see [`Heap::current`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<R> {
    /// `None`.
    None,
    /// Something no snapshot needs: bytes, sets, integers beyond 64 bits.
    Opaque,
    Bool(bool),
    Int(i64),
    /// An integer of 2^63 and more.
    Big(u64),
    Float(f64),
    Text(TextId),
    /// A container that is still empty, and its memo slot.
    Empty(Kind, u32),
    /// The index of an [`Object`].
    List(u32),
    Dict(u32),
    Tuple(u32),
    /// The record that a container became, and its memo slot.
    Record(R, u32),
}

impl<R: Copy> Value<R> {
    /// The memo slot that holds the container's current form.
    #[inline]
    pub(crate) fn slot(self) -> u32 {
        match self {
            Value::Empty(_, slot) | Value::Record(_, slot) => slot,
            _ => NO_SLOT,
        }
    }

    /// The same value with another memo slot, if values of its kind have one.
    #[inline]
    pub(crate) fn with_slot(self, slot: u32) -> Value<R> {
        match self {
            Value::Empty(kind, _) => Value::Empty(kind, slot),
            Value::Record(record, _) => Value::Record(record, slot),
            other => other,
        }
    }

    /// The integer, if it is one from 0 to 2^64 - 1.
    #[inline]
    pub(crate) fn as_u64(self) -> Option<u64> {
        match self {
            Value::Int(n) => u64::try_from(n).ok(),
            Value::Big(n) => Some(n),
            _ => None,
        }
    }

    /// The integer's 64 bits: PyTorch's C++ pickler writes addresses from 2^63 on as negative numbers.
    #[inline]
    pub(crate) fn as_bits(self) -> Option<u64> {
        match self {
            Value::Int(n) => Some(n.cast_unsigned()),
            Value::Big(n) => Some(n),
            _ => None,
        }
    }
}

/// The contents of a container that did not become a record while it was filled.
#[derive(Debug)]
pub(crate) enum Object<R> {
    List(Vec<Value<R>>),
    /// Key, value, key, value.
    Dict(Vec<Value<R>>),
    Tuple(Vec<Value<R>>),
    /// Became a record when it was used. It cannot change any more: making the record again after every change would
    /// take quadratic time and memory.
    Frozen(R),
    /// Was consumed. If it could be consumed again, a small file could name one large container many times.
    Taken,
}

/// Everything values refer to.
#[derive(Debug)]
pub(crate) struct Heap<R> {
    objects: Vec<Object<R>>,
    /// How many values all objects hold, each object counting as two.
    held: u64,
    pub(super) memo: Memo<R>,
    pub(crate) texts: Texts,
}

impl<R: Pack> Heap<R> {
    pub(crate) fn new(texts: Texts) -> Heap<R> {
        Heap { objects: Vec::new(), held: 0, memo: Memo::new(), texts }
    }

    /// Keeps an object; the caller makes the value that refers to it.
    pub(crate) fn add(&mut self, object: Object<R>) -> u32 {
        let items = match &object {
            Object::List(items) | Object::Dict(items) | Object::Tuple(items) => items.len() as u64,
            Object::Frozen(_) | Object::Taken => 0,
        };
        self.held += items + 2;
        self.objects.push(object);
        // `overfull` stops the machine long before 2^32 objects.
        (self.objects.len() - 1) as u32
    }

    pub(crate) fn object(&self, index: u32) -> &Object<R> {
        self.objects.get(index as usize).unwrap_or(&Object::Taken)
    }

    /// Takes an object's contents and leaves `instead` in their place.
    pub(crate) fn replace(&mut self, index: u32, instead: Object<R>) -> Object<R> {
        match self.objects.get_mut(index as usize) {
            Some(object) => std::mem::replace(object, instead),
            None => Object::Taken,
        }
    }

    /// Adds items to a container of `kind`.
    pub(crate) fn extend(&mut self, index: u32, kind: Kind, more: &[Value<R>]) -> Result<(), &'static str> {
        match (kind, self.objects.get_mut(index as usize)) {
            (Kind::List, Some(Object::List(items))) | (Kind::Dict, Some(Object::Dict(items))) => {
                items.extend_from_slice(more);
                self.held += more.len() as u64;
                Ok(())
            }
            _ => Err("a container is added to after it was used"),
        }
    }

    /// The current form of a container, which may have changed since this copy of its value was made.
    #[inline]
    pub(crate) fn current(&self, value: Value<R>) -> Value<R> {
        match value.slot() {
            NO_SLOT => value,
            slot => self.memo.get(slot).unwrap_or(value),
        }
    }

    /// How much is held, counted in values of 16 bytes.
    pub(crate) fn held(&self) -> u64 {
        let texts = self.texts.joined_len() as u64 / 16 + self.texts.len() as u64;
        self.held + self.memo.held() + texts
    }

    /// What there are too many of for 32-bit numbers, if anything.
    pub(crate) fn overfull(&self) -> Option<&'static str> {
        let limit = 1 << 31;
        [(self.objects.len(), "containers"), (self.memo.len(), "memo slots"), (self.texts.len(), "texts")]
            .into_iter()
            .find_map(|(count, what)| (count > limit).then_some(what))
    }
}
