//! The driver, as far as PyTorch's libraries are linked against it or ask for it by name.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

use crate::answer::{answer, offer, put};
use crate::card::{card, shared_per_processor, threads_per_processor};
use crate::code::{self, Code, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED, SUCCESS};
use crate::functions::{cuCtxSetCurrent, cuInit};
use crate::mapping::{
    cuMemAddressFree, cuMemAddressReserve, cuMemCreate, cuMemGetAllocationGranularity, cuMemMap,
    cuMemRelease, cuMemSetAccess, cuMemUnmap,
};
use crate::memory;
use crate::real::{version, write_text};
use crate::store::{Handle, handle};

/// An attribute of the device, by its number in cuda.h. Only those are known that libraries ask for.
pub(crate) fn attribute(number: c_int) -> c_int {
    let card = card();
    match number {
        // Threads of a block; its three dimensions; the grid's.
        1..=3 => 1024,
        4 => 64,
        5 => c_int::MAX,
        6 | 7 => 65_535,
        // Shared memory of a block, warp, registers.
        8 => 48 << 10,
        10 => 32,
        12 => 65_536,
        16 => card.multiprocessors.cast_signed(),
        // Threads and shared memory of a multiprocessor.
        39 => threads_per_processor(card),
        75 => card.capability.0.into(),
        76 => card.capability.1.into(),
        81 => shared_per_processor(card),
        82 => 65_536,
        97 => shared_per_processor(card) - 1024,
        // Memory apart from addresses, and handles to it that are files.
        102 | 103 => 1,
        _ => 0,
    }
}

/// The address of a function by its name, for programs that look it up.
pub(crate) fn entry(name: &CStr) -> Handle {
    let function = known(name).unwrap_or_else(|| {
        code::log(&format!("{}, which is looked for by name", name.to_string_lossy()));
        absent as *const ()
    });
    function.cast_mut().cast()
}

/// The function of a name, if the phantom has it.
fn known(name: &CStr) -> Option<*const ()> {
    macro_rules! functions {
        ($($name:ident)*) => { [$((stringify!($name), $name as *const ())),*] };
    }
    let known = functions! {
        cuInit cuDeviceGet cuDeviceGetCount cuDeviceGetName cuDeviceGetAttribute cuDevicePrimaryCtxGetState
        cuDevicePrimaryCtxRetain cuCtxGetCurrent cuCtxSetCurrent cuDriverGetVersion cuGetErrorString cuMemGetInfo_v2
        cuMemGetAllocationGranularity cuMemAddressReserve cuMemAddressFree cuMemCreate cuMemRelease cuMemMap
        cuMemSetAccess cuMemUnmap
    };
    let name = name.to_string_lossy();
    let is_it = |known: &str| known == name || known.strip_suffix("_v2") == Some(&*name);
    known.into_iter().find(|(known, _)| is_it(known)).map(|(_, function)| function)
}

/// Stands for every function that the phantom does not have. The driver's failures are not the runtime's last error.
extern "C" fn absent() -> Code {
    NOT_SUPPORTED
}

/// The context's handle; there is nothing behind it.
const CONTEXT: Handle = 0x42 as Handle;

answer! {
    fn cuDeviceGetCount(at: *mut c_int) { *at = card().devices.cast_signed(); }

    /// The card's handle is its number.
    fn cuDeviceGet(at: *mut c_int, ordinal: c_int) { *at = ordinal; }

    fn cuDeviceGetAttribute(at: *mut c_int, number: c_int, _: c_int) { *at = attribute(number); }

    /// The card always has a context.
    fn cuDevicePrimaryCtxGetState(_: c_int, flags: *mut c_uint, active: *mut c_int) { *flags = 0; *active = 1; }

    fn cuDevicePrimaryCtxRetain(at: *mut Handle, _: c_int) { *at = CONTEXT; }

    fn cuCtxGetCurrent(at: *mut Handle) { *at = CONTEXT; }

    fn cuDriverGetVersion(at: *mut c_int) { *at = version(); }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { *free = memory::info().0; *total = memory::info().1; }

    /// Code that was compiled while the program runs, as PyTorch does it for some functions: modules and what is in them.
    fn cuModuleLoad(at: *mut Handle, _: *const c_char) { *at = handle(); }

    fn cuModuleLoadData(at: *mut Handle, _: *const c_void) { *at = handle(); }

    fn cuModuleLoadDataEx(at: *mut Handle, _: *const c_void, _: c_uint, _: *mut c_void, _: *mut c_void) { *at = handle(); }

    fn cuModuleGetFunction(at: *mut Handle, _: Handle, _: *const c_char) { *at = handle(); }

    /// The first is the most threads of a block; there is no need of anything else.
    fn cuFuncGetAttribute(at: *mut c_int, number: c_int, _: Handle) { *at = if number == 0 { 1024 } else { 0 }; }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(at: *mut c_int, _: Handle, _: c_int, _: usize) { *at = 2; }

    /// A code in words.
    fn cuGetErrorString(of: Code, at: *mut *const c_char) { *at = code::words(of).1.as_ptr(); }
}

/// The card's name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetName(at: *mut c_char, length: c_int, _: c_int) -> Code {
    let name = CString::new(card().name.as_bytes()).unwrap_or_default();
    // SAFETY: the caller's buffer of `length` bytes.
    unsafe { write_text(at, length, &name) }
}

/// Tables that are not documented: there are none.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuGetExportTable(_: Handle, _: Handle) -> Code {
    NOT_FOUND
}

/// The address of a function by its name. Other libraries look for many, and do without.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    at: *mut Handle,
    _: c_int,
    _: u64,
    found: *mut c_int,
) -> Code {
    if name.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: the caller's C string.
    let function = known(unsafe { CStr::from_ptr(name) });
    // SAFETY: the caller's pointers, of which the last may be null. 1 stands for a name that is not known.
    unsafe {
        offer(found, c_int::from(function.is_none()));
        offer(at, function.unwrap_or(std::ptr::null()).cast_mut().cast());
    }
    if function.is_some() { SUCCESS } else { NOT_FOUND }
}
