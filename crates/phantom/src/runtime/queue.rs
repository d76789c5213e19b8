//! Streams, events, kernels, errors, and the way to the driver's functions. Nothing takes time here.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::answer::{answer, offer, put};
use crate::card::{architecture, card};
use crate::code::{self, Code, INVALID_VALUE, SUCCESS};
use crate::real::version;
use crate::store::{Handle, handle};

/// What lies between two events: programs divide by it.
const ELAPSED_MS: f32 = 1.0;

answer! {
    fn cudaStreamCreate(at: *mut Handle) { *at = handle(); }

    fn cudaStreamCreateWithPriority(at: *mut Handle, _: c_uint, _: c_int) { *at = handle(); }

    fn cudaStreamCreateWithFlags(at: *mut Handle, _: c_uint) { *at = handle(); }

    fn cudaEventCreate(at: *mut Handle) { *at = handle(); }

    fn cudaEventCreateWithFlags(at: *mut Handle, _: c_uint) { *at = handle(); }

    fn cudaEventElapsedTime(at: *mut f32, _: Handle, _: Handle) { *at = ELAPSED_MS; }

    /// All streams have one priority.
    fn cudaStreamGetPriority(_: Handle, at: *mut c_int) { *at = 0; }

    /// What an ordinary kernel would get.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(at: *mut c_int) { *at = 2; }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(at: *mut c_int) { *at = 2; }
}

/// The attributes of a kernel that needs nothing and allows as many threads as a block can have.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaFuncGetAttributes(at: *mut u8, _: *const c_void) -> Code {
    if at.is_null() {
        return code::fail(INVALID_VALUE);
    }
    let architecture = architecture(card()).max(if version() >= 13_000 { 75 } else { 50 });
    // SAFETY: cudaFuncAttributes is longer than 64 bytes in every version; after three size_t come the threads of a
    // block, registers, the versions of the code, cache mode and dynamic shared memory, an int each.
    unsafe {
        at.write_bytes(0, 64);
        let ints = [1024, 32, architecture, architecture, 0, 48 << 10];
        at.add(24).cast::<[c_int; 6]>().write_unaligned(ints);
    }
    SUCCESS
}

/// The last error; it is forgotten.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetLastError() -> Code {
    code::take()
}

/// The last error; it stays.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaPeekAtLastError() -> Code {
    code::peek()
}

/// A code in words.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetErrorString(of: Code) -> *const c_char {
    code::words(of).1.as_ptr()
}

/// A code's name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetErrorName(of: Code) -> *const c_char {
    code::words(of).0.as_ptr()
}

/// A function of the driver, by name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaGetDriverEntryPointByVersion(
    name: *const c_char,
    at: *mut Handle,
    _: c_uint,
    _: u64,
    status: *mut c_int,
) -> Code {
    // SAFETY: passed on as it came.
    unsafe { cudaGetDriverEntryPoint(name, at, 0, status) }
}

/// A function of the driver, by name; for those that the phantom does not have, one that refuses.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaGetDriverEntryPoint(
    name: *const c_char,
    at: *mut Handle,
    _: u64,
    status: *mut c_int,
) -> Code {
    if name.is_null() {
        return code::fail(INVALID_VALUE);
    }
    // SAFETY: the caller's C string.
    let name = unsafe { CStr::from_ptr(name) };
    // SAFETY: the caller's pointers; the status may be null.
    unsafe {
        offer(status, 0);
        put(at, crate::driver::entry(name))
    }
}
