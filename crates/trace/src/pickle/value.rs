//! The values a pickle builds.

use crate::text::TextId;

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
/// value in that slot: see [`Heap::current`](super::heap::Heap::current).
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
