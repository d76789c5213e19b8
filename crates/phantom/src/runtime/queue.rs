//! What is done in order: streams, events, kernels, errors, and the driver behind it all.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::Handle;
use super::device::version;
use crate::card::card;
use crate::code::{self, Code, INVALID_VALUE, SUCCESS, put};
use crate::order;

/// A stream.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamCreate(at: *mut Handle) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, order::handle() as Handle) }
}

/// A stream.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamCreateWithPriority(at: *mut Handle, _: c_uint, _: c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, order::handle() as Handle) }
}

/// A stream.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamCreateWithFlags(at: *mut Handle, _: c_uint) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, order::handle() as Handle) }
}

/// All streams are of one priority.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetPriority(_: Handle, at: *mut c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, 0) }
}

/// No stream is capturing.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamIsCapturing(_: Handle, at: *mut c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, 0) }
}

/// No stream is capturing; what else could be told of a capture is left alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetCaptureInfo(_: Handle, at: *mut c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, 0) }
}

/// The same under the name that CUDA 12 gave it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetCaptureInfo_v2(stream: Handle, at: *mut c_int) -> Code {
    // SAFETY: passed on as it came.
    unsafe { cudaStreamGetCaptureInfo(stream, at) }
}

/// The same under the name that CUDA 12.3 gave it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetCaptureInfo_v3(stream: Handle, at: *mut c_int) -> Code {
    // SAFETY: passed on as it came.
    unsafe { cudaStreamGetCaptureInfo(stream, at) }
}

/// An event.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaEventCreate(at: *mut Handle) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, order::handle() as Handle) }
}

/// An event.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaEventCreateWithFlags(at: *mut Handle, _: c_uint) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, order::handle() as Handle) }
}

/// Nothing takes time here.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaEventElapsedTime(at: *mut f32, _: Handle, _: Handle) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, 0.0) }
}

/// The attributes of a kernel that takes nothing and allows as many threads as there are.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaFuncGetAttributes(at: *mut u8, _: *const c_void) -> Code {
    if at.is_null() {
        return code::fail(INVALID_VALUE);
    }
    let architecture = card().architecture().max(if version() >= 13_000 { 75 } else { 50 });
    // SAFETY: cudaFuncAttributes is longer than 64 bytes in every version; after three size_t come the threads of a
    // block, registers, the versions of the code, cache mode and dynamic shared memory, an int each.
    unsafe {
        at.write_bytes(0, 64);
        let ints = at.add(24).cast::<c_int>();
        ints.write_unaligned(1024);
        ints.add(1).write_unaligned(32);
        ints.add(2).write_unaligned(architecture);
        ints.add(3).write_unaligned(architecture);
        ints.add(5).write_unaligned(48 << 10);
    }
    SUCCESS
}

/// Every kernel fits as often as a common one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    at: *mut c_int,
) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, 2) }
}

/// The same without flags.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(at: *mut c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, 2) }
}

/// The last error, which is forgotten.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetLastError() -> Code {
    code::take()
}

/// The last error.
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

/// A function of the driver, by name; one that refuses stands for those that a phantom does not have.
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
        if !status.is_null() {
            put(status, 0);
        }
        put(at, crate::driver::entry(name))
    }
}
