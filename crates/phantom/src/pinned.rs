//! Pinned memory of the host: ordinary memory here, known by its addresses.
//!
//! What is copied to it from the card is zeros. Whole pages of it go back to the system, which has zeros there when they
//! are read: so a program that keeps much on the host can be planned where there is little memory.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

const PAGE: usize = 4096;
/// `MADV_DONTNEED`: of private memory that is no file's the next read finds zeros.
const DONT_NEED: c_int = 4;

unsafe extern "C" {
    fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn free(address: *mut c_void);
    fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
}

/// The length of each piece that is taken, by its address.
fn pieces() -> MutexGuard<'static, BTreeMap<usize, usize>> {
    static PIECES: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());
    // Each change is one insertion or removal, so the map is whole even if a thread died while it held the lock.
    PIECES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes memory; null where there is none.
pub(crate) fn take(size: usize) -> *mut c_void {
    let Some(size) = size.max(1).checked_next_multiple_of(PAGE) else { return ptr::null_mut() };
    // SAFETY: a power of two and a multiple of it, as aligned_alloc wants them.
    let address = unsafe { aligned_alloc(PAGE, size) };
    if !address.is_null() {
        pieces().insert(address as usize, size);
    }
    address
}

/// Gives memory back.
///
/// # Safety
/// The address is one that [`take`] gave and that was not given back, or null.
pub(crate) unsafe fn give(address: *mut c_void) {
    pieces().remove(&(address as usize));
    // SAFETY: as the caller says; `take` has it from aligned_alloc.
    unsafe { free(address) };
}

/// Whether so many bytes from an address on are pinned.
pub(crate) fn holds(address: usize, count: usize) -> bool {
    let piece = pieces().range(..=address).next_back().map(|(first, size)| (*first, *size));
    piece.is_some_and(|(first, size)| address - first < size && count <= size - (address - first))
}

/// Writes zeros.
///
/// # Safety
/// The range is the caller's to write, and no other thread uses it.
pub(crate) unsafe fn zero(address: *mut c_void, count: usize) {
    let bytes = address.cast::<u8>();
    let before = (address as usize).next_multiple_of(PAGE) - address as usize;
    let pages = count.saturating_sub(before) / PAGE * PAGE;
    let is_dropped = pages > 0 && holds(address as usize, count) && {
        // SAFETY: whole pages inside a piece that `take` has from aligned_alloc: private memory, no file's.
        unsafe { madvise(bytes.add(before).cast(), pages, DONT_NEED) == 0 }
    };
    if is_dropped {
        // SAFETY: the two ends beside these pages are inside the caller's range.
        unsafe {
            bytes.write_bytes(0, before);
            bytes.add(before + pages).write_bytes(0, count - before - pages);
        }
    } else {
        // SAFETY: the caller's range.
        unsafe { bytes.write_bytes(0, count) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_fill_the_range_and_nothing_else() {
        let size = 3 * PAGE;
        let address = take(size).cast::<u8>();
        assert!(!address.is_null());
        for (from, count) in [(0, size), (1, size - 2), (100, 50), (PAGE, PAGE), (PAGE - 1, PAGE + 2)] {
            // SAFETY: a piece of this size, which only this test uses.
            let found = unsafe {
                address.write_bytes(7, size);
                zero(address.add(from).cast(), count);
                std::slice::from_raw_parts(address, size)
            };
            let wanted: Vec<u8> =
                (0..size).map(|at| if (from..from + count).contains(&at) { 0 } else { 7 }).collect();
            assert_eq!(found, wanted);
        }
        let address = address as usize;
        assert!(holds(address, size) && holds(address + size - 1, 1));
        assert!(!holds(address, size + 1) && !holds(address + size, 1));
        // SAFETY: it was taken above, and is not used again.
        unsafe { give(address as *mut c_void) };
        assert!(!holds(address, 1));
    }
}
