//! Descriptors by handle. A program gets handles, never addresses of ours, so a stale or foreign one is only not found.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Handle;
use crate::order;

/// Things of one kind, by the handles they were given.
pub(crate) struct Store<T> {
    held: Mutex<BTreeMap<usize, T>>,
}

impl<T: Clone> Store<T> {
    pub(crate) const fn new() -> Self {
        Self { held: Mutex::new(BTreeMap::new()) }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<usize, T>> {
        // Each change is one insertion or removal; what a dead thread left is whole.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a thing under a handle that no other has.
    pub(crate) fn create(&self, thing: T) -> Handle {
        let handle = order::handle();
        self.held().insert(handle, thing);
        handle as Handle
    }

    /// A copy of what a handle stands for.
    pub(crate) fn get(&self, handle: Handle) -> Option<T> {
        self.held().get(&(handle as usize)).cloned()
    }

    /// Changes what a handle stands for; false where it stands for nothing.
    pub(crate) fn change(&self, handle: Handle, how: impl FnOnce(&mut T)) -> bool {
        self.held().get_mut(&(handle as usize)).map(how).is_some()
    }

    /// Forgets a handle.
    pub(crate) fn destroy(&self, handle: Handle) {
        self.held().remove(&(handle as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_stands_for_its_own_thing_until_it_is_destroyed() {
        let store = Store::new();
        let (one, two) = (store.create(1), store.create(2));
        assert!(store.change(two, |it| *it += 10));
        assert_eq!((store.get(one), store.get(two)), (Some(1), Some(12)));
        store.destroy(one);
        assert_eq!(store.get(one), None);
        assert!(!store.change(one, |it| *it = 0));
        assert_eq!(store.get(0x7fff_0000_0010 as Handle), None);
    }
}
