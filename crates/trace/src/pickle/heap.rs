//! Where the contents of values lie.

use super::memo::{Memo, Pack};
use super::value::{Kind, NO_SLOT, Object, Value};
use crate::text::Texts;

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
