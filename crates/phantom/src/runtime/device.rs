//! The card: how many there are, which is current, what it is.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::answer::{answer, offer, put};
use crate::card::card;
use crate::code::{self, Code, INVALID_VALUE, SUCCESS};
use crate::properties::{Cuda, describe};

answer! {
    /// There is one card.
    fn cudaGetDeviceCount(count: *mut c_int) { *count = 1; }

    fn cudaGetDevice(device: *mut c_int) { *device = 0; }

    fn cudaRuntimeGetVersion(at: *mut c_int) { *at = version(); }

    /// The driver is as new as the runtime.
    fn cudaDriverGetVersion(at: *mut c_int) { *at = version(); }

    /// There is no other card.
    fn cudaDeviceCanAccessPeer(at: *mut c_int, _: c_int, _: c_int) { *at = 0; }
}

/// There is one card to choose.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaSetDevice(device: c_int) -> Code {
    if device == 0 { SUCCESS } else { code::fail(code::INVALID_DEVICE) }
}

/// The version of the real runtime, so that all agree on the layout of structures.
pub(crate) fn version() -> c_int {
    /// Looks in the libraries that are loaded after this one.
    const NEXT: *mut c_void = -1_isize as *mut c_void;
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    // SAFETY: a C string; the handle is glibc's RTLD_NEXT.
    let found = unsafe { dlsym(NEXT, c"cudaRuntimeGetVersion".as_ptr()) };
    let mut version = 13_000;
    if !found.is_null() {
        // SAFETY: the symbol of this name in CUDA's runtime has this signature, in every version.
        let ask: unsafe extern "C" fn(*mut c_int) -> Code = unsafe { std::mem::transmute(found) };
        // SAFETY: it writes one int; it needs neither driver nor device.
        if unsafe { ask(&raw mut version) } != SUCCESS {
            version = 13_000;
        }
    }
    version
}

/// The card's description.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaGetDeviceProperties(at: *mut u8, device: c_int) -> Code {
    if at.is_null() || device != 0 {
        return code::fail(INVALID_VALUE);
    }
    let bytes = describe(card(), if version() >= 13_000 { Cuda::Thirteen } else { Cuda::Twelve });
    // SAFETY: the caller's structure is as long as its version of CUDA makes it, which is the length used here.
    unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    SUCCESS
}

/// The same under the name that CUDA 12 gave it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaGetDeviceProperties_v2(at: *mut u8, device: c_int) -> Code {
    // SAFETY: passed on as it came.
    unsafe { cudaGetDeviceProperties(at, device) }
}

/// One attribute; those that nobody asks for are zero.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaDeviceGetAttribute(
    at: *mut c_int,
    attribute: c_int,
    device: c_int,
) -> Code {
    if device != 0 {
        return code::fail(code::INVALID_DEVICE);
    }
    // SAFETY: the caller's pointer.
    unsafe { put(at, crate::driver::attribute(attribute)) }
}

/// An address on a bus that does not exist.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaDeviceGetPCIBusId(at: *mut c_char, length: c_int, _: c_int) -> Code {
    // SAFETY: the caller's buffer of `length` bytes.
    unsafe { write_text(at, length, c"0000:00:00.0") }
}

/// Copies a C string into a buffer of `length` bytes, whole or not at all.
///
/// # Safety
/// `at` points to `length` bytes that the caller owns.
pub(crate) unsafe fn write_text(at: *mut c_char, length: c_int, text: &CStr) -> Code {
    let bytes = text.to_bytes_with_nul();
    if at.is_null() || usize::try_from(length).unwrap_or(0) < bytes.len() {
        return code::fail(INVALID_VALUE);
    }
    // SAFETY: `at` has room for them, as just checked against the caller's word.
    unsafe { at.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    SUCCESS
}

/// The range of priorities of current cards.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaDeviceGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> Code {
    // SAFETY: the caller's pointers, each of which may be null.
    unsafe {
        offer(least, 0);
        offer(greatest, -5);
    }
    SUCCESS
}
