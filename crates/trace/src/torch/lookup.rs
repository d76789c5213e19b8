//! Looking things up in the dicts and lists that are left when the pickle has been read.

use super::event::Fault;
use super::records::{TorchHeap, TorchValue};
use crate::pickle::{Object, Value};
use crate::text::TextId;

/// The items of a dict that is being consumed: key, value, key, value.
pub(super) struct Dict(Vec<TorchValue>);

impl Dict {
    /// Takes the dict out of the heap: it can be consumed once.
    pub(super) fn take(value: TorchValue, heap: &mut TorchHeap) -> Option<Dict> {
        match heap.current(value) {
            Value::Empty(..) => Some(Dict(Vec::new())),
            Value::Dict(index) => match heap.replace(index, Object::Taken) {
                Object::Dict(items) => Some(Dict(items)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The last value set for `key`.
    pub(super) fn get(&self, key: TextId) -> Option<TorchValue> {
        let matches = |pair: &&[TorchValue]| matches!(pair[0], Value::Text(text) if text == key);
        self.0.chunks_exact(2).rev().find(matches).map(|pair| pair[1])
    }

    /// Whether `key` is there.
    pub(super) fn has(&self, key: TextId) -> bool {
        self.get(key).is_some()
    }

    /// The amount under `key`, if it is there.
    pub(super) fn amount(&self, key: TextId, name: &'static str) -> Result<Option<u64>, Fault> {
        self.get(key).map(|value| value.as_u64().ok_or(Fault::Wrong(name))).transpose()
    }

    /// The amount under `key`, which must be there.
    pub(super) fn required(&self, key: TextId, name: &'static str) -> Result<u64, Fault> {
        self.amount(key, name)?.ok_or(Fault::Missing(name))
    }

    /// The keys and values that follow each other.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (TorchValue, TorchValue)> {
        self.0.chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }

    /// The same dict as the bare items.
    pub(super) fn items(&self) -> &[TorchValue] {
        &self.0
    }
}

/// Takes a list's items out of the heap: they can be consumed once. `None` counts as an empty list.
pub(super) fn take_list(value: TorchValue, heap: &mut TorchHeap) -> Option<Vec<TorchValue>> {
    match heap.current(value) {
        Value::Empty(..) | Value::None => Some(Vec::new()),
        Value::List(index) => match heap.replace(index, Object::Taken) {
            Object::List(items) => Some(items),
            _ => None,
        },
        _ => None,
    }
}
