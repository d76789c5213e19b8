//! The driver, as far as PyTorch's libraries are linked against it or ask for it by name.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

use crate::card::card;
use crate::code::{self, Code, NOT_SUPPORTED, SUCCESS, put};
use crate::memory;
use crate::runtime::write_text;

type Handle = *mut c_void;

/// What the driver says of a device: the few attributes that libraries ask for, by their numbers in cuda.h.
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
        16 => card.processors,
        // Threads and shared memory of a multiprocessor.
        39 => card.threads_per_processor(),
        75 => card.capability.0,
        76 => card.capability.1,
        81 => c_int::try_from(card.shared_per_processor()).unwrap_or(c_int::MAX),
        82 => 65_536,
        97 => c_int::try_from(card.shared_per_processor()).unwrap_or(c_int::MAX) - 1024,
        _ => 0,
    }
}

macro_rules! refuse {
    ($($name:ident),* $(,)?) => {
        $(
            /// Not supported.
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name() -> Code { NOT_SUPPORTED }
        )*
    };
}

refuse!(
    cuFuncGetAttribute,
    cuFuncSetAttribute,
    cuFuncSetCacheConfig,
    cuLaunchCooperativeKernel,
    cuLaunchKernel,
    cuLinkAddData_v2,
    cuLinkComplete,
    cuLinkCreate_v2,
    cuModuleGetFunction,
    cuModuleLoad,
    cuModuleLoadData,
    cuModuleLoadDataEx,
    cuModuleUnload,
    cuOccupancyMaxActiveBlocksPerMultiprocessor,
    cuPointerGetAttribute,
    cuTensorMapEncodeTiled,
);

/// What stands for every function that the phantom does not have. The driver's failures are not the runtime's last error.
extern "C" fn absent() -> Code {
    NOT_SUPPORTED
}

/// The address of a function by its name, for programs that look it up.
pub(crate) fn entry(name: &CStr) -> Handle {
    let found: *const () = match name.to_bytes() {
        b"cuInit" => cuInit as *const (),
        b"cuDeviceGet" => cuDeviceGet as *const (),
        b"cuDeviceGetCount" => cuDeviceGetCount as *const (),
        b"cuDeviceGetName" => cuDeviceGetName as *const (),
        b"cuDeviceGetAttribute" => cuDeviceGetAttribute as *const (),
        b"cuDevicePrimaryCtxGetState" => cuDevicePrimaryCtxGetState as *const (),
        b"cuDevicePrimaryCtxRetain" => cuDevicePrimaryCtxRetain as *const (),
        b"cuCtxGetCurrent" => cuCtxGetCurrent as *const (),
        b"cuCtxSetCurrent" => cuCtxSetCurrent as *const (),
        b"cuDriverGetVersion" => cuDriverGetVersion as *const (),
        b"cuGetErrorString" => cuGetErrorString as *const (),
        b"cuMemGetInfo" | b"cuMemGetInfo_v2" => cuMemGetInfo_v2 as *const (),
        other => {
            code::log(&format!("{}, which is looked for by name", String::from_utf8_lossy(other)));
            absent as *const ()
        }
    };
    found.cast_mut().cast()
}

/// Nothing to prepare.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuInit(_: c_uint) -> Code {
    SUCCESS
}

/// One card.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetCount(at: *mut c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, 1) }
}

/// The card's handle is its number.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGet(at: *mut c_int, ordinal: c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, ordinal) }
}

/// The card's name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetName(at: *mut c_char, length: c_int, _: c_int) -> Code {
    let name = CString::new(card().name.as_bytes()).unwrap_or_default();
    // SAFETY: the caller's buffer of `length` bytes.
    unsafe { write_text(at, length, &name) }
}

/// One attribute.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetAttribute(at: *mut c_int, number: c_int, _: c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, attribute(number)) }
}

/// The card always has a context.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDevicePrimaryCtxGetState(
    _: c_int,
    flags: *mut c_uint,
    active: *mut c_int,
) -> Code {
    // SAFETY: the caller's pointers.
    unsafe { put(flags, 0).max(put(active, 1)) }
}

/// Its handle.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDevicePrimaryCtxRetain(at: *mut Handle, _: c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, CONTEXT) }
}

/// The context's handle; nobody looks behind it.
const CONTEXT: Handle = 0x42 as Handle;

/// The current context.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxGetCurrent(at: *mut Handle) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, CONTEXT) }
}

/// There is one to choose.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cuCtxSetCurrent(_: Handle) -> Code {
    SUCCESS
}

/// The driver's version.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDriverGetVersion(at: *mut c_int) -> Code {
    // SAFETY: passed on as it came.
    unsafe { crate::runtime::cudaDriverGetVersion(at) }
}

/// What is free, and all there is.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    let (now, all) = memory::info();
    // SAFETY: the caller's pointers.
    unsafe { put(free, now).max(put(total, all)) }
}

/// A code in words.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGetErrorString(of: Code, at: *mut *const c_char) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, code::words(of).1.as_ptr()) }
}
