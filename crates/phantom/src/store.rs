//! Handles, and what they stand for. A program gets numbers, never addresses of ours: a handle that is stale or was
//! never given is simply not found.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a program holds: a stream, an event, a descriptor.
pub(crate) type Handle = *mut c_void;

/// A handle that no other has.
pub(crate) fn handle() -> Handle {
    static NEXT: AtomicUsize = AtomicUsize::new(0x1000);
    NEXT.fetch_add(16, Ordering::Relaxed) as Handle
}

/// Things of one kind, by their handles.
pub(crate) struct Store<T>(Mutex<BTreeMap<usize, T>>);

impl<T: Clone> Store<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    fn things(&self) -> MutexGuard<'_, BTreeMap<usize, T>> {
        // Each change is one insertion or removal, so the map is whole even if a thread died while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a thing under a handle that no other has.
    pub(crate) fn create(&self, thing: T) -> Handle {
        let handle = handle();
        self.things().insert(handle as usize, thing);
        handle
    }

    /// A copy of what a handle stands for.
    pub(crate) fn get(&self, handle: Handle) -> Option<T> {
        self.things().get(&(handle as usize)).cloned()
    }

    /// Changes what a handle stands for; false where it stands for nothing.
    pub(crate) fn change(&self, handle: Handle, how: impl FnOnce(&mut T)) -> bool {
        self.things().get_mut(&(handle as usize)).map(how).is_some()
    }

    /// Forgets a handle.
    pub(crate) fn destroy(&self, handle: Handle) {
        self.things().remove(&(handle as usize));
    }
}

/// The functions that create and destroy things of a store. They write with the `put` of the module they are in.
macro_rules! lifetime {
    ($($create:ident, $destroy:ident, $store:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $create(at: *mut $crate::store::Handle) -> $crate::code::Code {
            // SAFETY: the caller's pointer.
            unsafe { put(at, $store.create(Default::default())) }
        }

        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $destroy(handle: $crate::store::Handle) -> $crate::code::Code {
            $store.destroy(handle);
            $crate::code::SUCCESS
        }
    )* };
}

/// Functions that only set what a handle stands for: `fn set(thing: Handle, value: c_int) { *THINGS[thing] = value; }`.
///
/// They answer with the `found` of the module that they are in.
macro_rules! remember {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($argument:tt: $type:ty),* $(,)?) { *$store:ident[$handle:ident] = $value:expr; }
    )*) => { $(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $crate::code::Code {
            let value = $value;
            found($store.change($handle, |it| *it = value))
        }
    )* };
}

pub(crate) use {lifetime, remember};

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
