//! The driver's functions for memory apart from addresses, which PyTorch's expandable segments call. Signatures are CUDA's.

use std::ffi::{c_int, c_ulonglong, c_void};
use std::sync::{Mutex, PoisonError};

use oomph_engine::simulated::SimulatedDevice;
use oomph_trace::{Addr, Bytes};

use crate::answer::{answer, put};
use crate::code::{Code, INVALID_VALUE, SUCCESS};
use crate::memory::memory;
use crate::pages::{self, GRANULE, Pages};

/// Does something with the card's pages. The driver's failures are not the runtime's last error.
fn with<T>(act: impl FnOnce(&mut Pages, &mut SimulatedDevice) -> Result<T, Code>) -> Result<T, Code> {
    static PAGES: Mutex<Pages> = Mutex::new(Pages::new());
    // Pages are only counted, so they can still be used after a thread died while it held the lock.
    let mut pages = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    act(&mut pages, &mut memory())
}

fn code(result: Result<(), Code>) -> Code {
    result.err().unwrap_or(SUCCESS)
}

/// Writes what was made, or says why nothing was.
///
/// # Safety
/// As for [`put`].
unsafe fn give<T>(at: *mut T, made: Result<T, Code>) -> Code {
    match made {
        // SAFETY: the caller of this function vouches for it.
        Ok(made) => unsafe { put(at, made) },
        Err(code) => code,
    }
}

answer! {
    fn cuMemGetAllocationGranularity(at: *mut usize, _: *const c_void, _: c_int) { *at = GRANULE.0 as usize; }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemAddressReserve(
    at: *mut u64,
    size: usize,
    _: usize,
    _: u64,
    _: c_ulonglong,
) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { give(at, with(|_, card| Ok(pages::reserve(card, Bytes(size as u64))?.0))) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuMemAddressFree(at: u64, size: usize) -> Code {
    code(with(|pages, card| pages.unreserve(card, Addr(at), Bytes(size as u64))))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemCreate(
    at: *mut c_ulonglong,
    size: usize,
    _: *const c_void,
    _: c_ulonglong,
) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { give(at, with(|pages, card| pages.create(card, Bytes(size as u64)))) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuMemRelease(handle: c_ulonglong) -> Code {
    code(with(|pages, card| pages.release(card, handle)))
}

/// Pages are mapped whole; CUDA has no other offset than 0 either.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuMemMap(
    at: u64,
    size: usize,
    offset: usize,
    handle: c_ulonglong,
    _: c_ulonglong,
) -> Code {
    if offset != 0 {
        return INVALID_VALUE;
    }
    code(with(|pages, card| pages.map(card, Addr(at), Bytes(size as u64), handle)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuMemSetAccess(at: u64, size: usize, _: *const c_void, _: usize) -> Code {
    code(with(|pages, _| pages.allow(Addr(at), Bytes(size as u64))))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuMemUnmap(at: u64, size: usize) -> Code {
    code(with(|pages, card| pages.unmap(card, Addr(at), Bytes(size as u64))))
}
