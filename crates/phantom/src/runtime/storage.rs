//! Memory: of the card, pinned, and copies between them.

use std::ffi::{c_int, c_uint, c_void};

use super::device::current;
use crate::answer::{answer, put};
use crate::code::{self, Code, INVALID_VALUE, OUT_OF_MEMORY, SUCCESS};
use crate::store::Handle;
use crate::{copy, managed, memory, pinned};

/// Memory of the card.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMalloc(at: *mut Handle, size: usize) -> Code {
    match memory::take(size as u64) {
        // SAFETY: the caller's pointer.
        Some(address) => unsafe { put(at, address as Handle) },
        None => code::fail(OUT_OF_MEMORY),
    }
}

/// Gives it back.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaFree(address: Handle) -> Code {
    let is_known = address.is_null() || memory::give(address as u64) || managed::give(address);
    if is_known { SUCCESS } else { code::fail(INVALID_VALUE) }
}

answer! {
    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) { *free = memory::info().0; *total = memory::info().1; }

    /// Pinned memory has one address for both sides.
    fn cudaHostGetDevicePointer(at: *mut Handle, address: Handle, _: c_uint) { *at = address; }
}

/// Pinned memory is ordinary memory here.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaHostAlloc(at: *mut Handle, size: usize, _: c_uint) -> Code {
    let address = pinned::take(size);
    if address.is_null() {
        return code::fail(OUT_OF_MEMORY);
    }
    // SAFETY: the caller's pointer.
    unsafe { put(at, address) }
}

/// Memory that the driver moves between the card and the host.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMallocManaged(at: *mut Handle, size: usize, _: c_uint) -> Code {
    let address = managed::take(size);
    if address.is_null() {
        return code::fail(OUT_OF_MEMORY);
    }
    // SAFETY: the caller's pointer.
    unsafe { put(at, address) }
}

/// Pinned memory, by its older name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMallocHost(at: *mut Handle, size: usize) -> Code {
    // SAFETY: passed on as it came.
    unsafe { cudaHostAlloc(at, size, 0) }
}

/// Gives it back.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaFreeHost(address: Handle) -> Code {
    // SAFETY: the caller has it from cudaHostAlloc above, or it is null.
    unsafe { pinned::give(address) };
    SUCCESS
}

/// What kind of memory an address is: 0 not CUDA's, 1 pinned, 2 the card's, 3 managed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaPointerGetAttributes(at: *mut c_int, address: *const c_void) -> Code {
    if at.is_null() {
        return code::fail(INVALID_VALUE);
    }
    let of_the_card = memory::is_of_the_card(address as u64);
    let is_pinned = pinned::holds(address as usize, 1);
    let is_managed = managed::holds(address as usize);
    // SAFETY: cudaPointerAttributes is two ints and two pointers, in every version; the caller owns one.
    unsafe {
        at.write(if of_the_card {
            2
        } else if is_managed {
            3
        } else {
            c_int::from(is_pinned)
        });
        at.add(1).write(current());
        let pointers = at.add(2).cast::<*const c_void>();
        pointers.write_unaligned(if of_the_card || is_pinned { address } else { std::ptr::null() });
        pointers.add(1).write_unaligned(if of_the_card { std::ptr::null() } else { address });
    }
    SUCCESS
}

/// A copy, done at once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemcpy(to: Handle, from: *const c_void, count: usize, _: c_int) -> Code {
    // SAFETY: the caller's ranges.
    unsafe { copy::copy(to, from, count) }
}

/// A copy, also done at once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemcpyAsync(
    to: Handle,
    from: *const c_void,
    count: usize,
    _: c_int,
    _: Handle,
) -> Code {
    // SAFETY: the caller's ranges.
    unsafe { copy::copy(to, from, count) }
}
