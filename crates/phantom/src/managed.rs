//! Managed memory, which the driver moves between the card and the host: paged optimizers keep their state in it. Here it
//! is ordinary memory of the host, and nothing of the card's is counted for it.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::pinned;

/// What is taken, and the most that ever was.
#[derive(Default)]
struct Taken {
    /// The length of each piece, by its address.
    pieces: BTreeMap<usize, usize>,
    bytes: u64,
    most: u64,
}

fn taken() -> MutexGuard<'static, Taken> {
    static TAKEN: Mutex<Taken> = Mutex::new(Taken { pieces: BTreeMap::new(), bytes: 0, most: 0 });
    // It is only counted here, so it can still be used after a thread died while it held the lock.
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes memory; null where there is none.
pub(crate) fn take(size: usize) -> *mut c_void {
    let address = pinned::take(size);
    if !address.is_null() {
        let mut taken = taken();
        taken.pieces.insert(address as usize, size);
        taken.bytes += size as u64;
        taken.most = taken.most.max(taken.bytes);
    }
    address
}

/// Gives memory back; false where none was taken at this address.
pub(crate) fn give(address: *mut c_void) -> bool {
    let mut taken = taken();
    let Some(size) = taken.pieces.remove(&(address as usize)) else { return false };
    taken.bytes -= size as u64;
    // SAFETY: `take` has it from there, and the piece is forgotten, so it is given back once.
    unsafe { pinned::give(address) };
    true
}

/// Whether an address is in managed memory.
pub(crate) fn holds(address: usize) -> bool {
    let piece = taken().pieces.range(..=address).next_back().map(|(first, size)| (*first, *size));
    piece.is_some_and(|(first, size)| address - first < size.max(1))
}

/// The most managed memory that this process had at a time, in bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn oomph_phantom_managed() -> u64 {
    taken().most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_hosts_and_its_most_is_counted() {
        let first = take(1 << 20);
        let second = take(100);
        // SAFETY: a piece of this size, which only this test uses.
        unsafe { first.cast::<u8>().write_bytes(7, 1 << 20) };
        assert!(holds(first as usize) && holds(first as usize + (1 << 20) - 1) && holds(second as usize));
        assert!(give(first) && !give(first) && give(second));
        assert!(!holds(second as usize));
        assert_eq!(oomph_phantom_managed(), (1 << 20) + 100);
    }
}
