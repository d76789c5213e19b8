//! The card: how many there are, which is current, what it is.

use std::cell::Cell;
use std::ffi::{c_char, c_int};

use crate::answer::{answer, offer, put};
use crate::card::card;
use crate::code::{self, Code, INVALID_VALUE, SUCCESS};
use crate::properties::{Cuda, describe};
use crate::real::{version, write_text};

thread_local! {
    /// The card that this thread uses.
    static CURRENT: Cell<c_int> = const { Cell::new(0) };
}

/// Whether there is a card of this number.
fn is_there(device: c_int) -> bool {
    u32::try_from(device).is_ok_and(|device| device < card().devices)
}

/// The number of the card that this thread uses.
pub(crate) fn current() -> c_int {
    CURRENT.get()
}

answer! {
    fn cudaGetDeviceCount(count: *mut c_int) { *count = card().devices.cast_signed(); }

    fn cudaGetDevice(device: *mut c_int) { *device = CURRENT.get(); }

    fn cudaRuntimeGetVersion(at: *mut c_int) { *at = version(); }

    /// The driver is as new as the runtime.
    fn cudaDriverGetVersion(at: *mut c_int) { *at = version(); }

    /// One attribute; those that nobody asks for are zero.
    fn cudaDeviceGetAttribute(at: *mut c_int, attribute: c_int, device: c_int) {
        *at = if is_there(device) { crate::driver::attribute(attribute) } else { return code::fail(code::INVALID_DEVICE) };
    }

    /// There is no other card.
    fn cudaDeviceCanAccessPeer(at: *mut c_int, _: c_int, _: c_int) { *at = 0; }
}

/// Chooses a card. All are alike, and a process of a distributed job uses one: their memory is counted as one's.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaSetDevice(device: c_int) -> Code {
    if !is_there(device) {
        return code::fail(code::INVALID_DEVICE);
    }
    CURRENT.set(device);
    SUCCESS
}

/// The card's description.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaGetDeviceProperties(at: *mut u8, device: c_int) -> Code {
    if at.is_null() || !is_there(device) {
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

/// An address on a bus that does not exist.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaDeviceGetPCIBusId(at: *mut c_char, length: c_int, _: c_int) -> Code {
    // SAFETY: the caller's buffer of `length` bytes.
    unsafe { write_text(at, length, c"0000:00:00.0") }
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
