//! The CUDA runtime, as far as PyTorch's libraries call it. Signatures are CUDA's.
//!
//! Every function here is called by C with the arguments that CUDA's headers promise; that is what each `SAFETY` note
//! means by "the caller".

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::card::card;
use crate::code::{self, Code, INVALID_VALUE, OUT_OF_MEMORY, SUCCESS, put};
use crate::properties::{CUDA_12, CUDA_13, describe};
use crate::{copy, memory, order};

type Handle = *mut c_void;

/// Functions that have nothing to do: they take what they are given and succeed.
macro_rules! succeed {
    ($($name:ident),* $(,)?) => { $(
        /// Succeeds at once.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> Code { SUCCESS }
    )* };
}

/// Functions that a phantom cannot serve.
macro_rules! refuse {
    ($($name:ident),* $(,)?) => { $(
        /// Not supported.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> Code { code::refuse(stringify!($name)) }
    )* };
}

succeed!(
    cudaDeviceEnablePeerAccess,
    cudaDeviceSynchronize,
    cudaEventDestroy,
    cudaEventQuery,
    cudaEventRecord,
    cudaEventRecordWithFlags,
    cudaEventSynchronize,
    cudaFreeAsync,
    cudaFuncSetAttribute,
    cudaHostRegister,
    cudaHostUnregister,
    cudaLaunchKernel,
    cudaLaunchKernelExC,
    cudaMemcpyToSymbol,
    cudaMemset,
    cudaMemsetAsync,
    cudaProfilerStart,
    cudaProfilerStop,
    cudaStreamDestroy,
    cudaStreamQuery,
    cudaStreamSynchronize,
    cudaStreamWaitEvent,
    cudaThreadExchangeStreamCaptureMode,
);

refuse!(
    cudaDeviceGetDefaultMemPool,
    cudaDeviceGetGraphMemAttribute,
    cudaDeviceSetGraphMemAttribute,
    cudaGetSymbolAddress,
    cudaGraphAddNode,
    cudaGraphConditionalHandleCreate,
    cudaGraphDebugDotPrint,
    cudaGraphDestroy,
    cudaGraphExecDestroy,
    cudaGraphGetNodes,
    cudaGraphInstantiate,
    cudaGraphInstantiateWithFlags,
    cudaGraphLaunch,
    cudaGraphNodeGetDependencies,
    cudaGraphRetainUserObject,
    cudaIpcCloseMemHandle,
    cudaIpcGetEventHandle,
    cudaIpcGetMemHandle,
    cudaIpcOpenEventHandle,
    cudaIpcOpenMemHandle,
    cudaKernelSetAttributeForDevice,
    cudaLaunchHostFunc,
    cudaLibraryGetGlobal,
    cudaLibraryGetKernel,
    cudaLibraryGetKernelCount,
    cudaLibraryGetManaged,
    cudaLibraryGetUnifiedFunction,
    cudaLibraryLoadData,
    cudaLibraryLoadFromFile,
    cudaLibraryUnload,
    cudaMallocAsync,
    cudaMallocManaged,
    cudaMemPoolGetAttribute,
    cudaMemPoolSetAccess,
    cudaMemPoolSetAttribute,
    cudaMemPoolTrimTo,
    cudaMemcpy2DAsync,
    cudaStreamAddCallback,
    cudaStreamBeginCapture,
    cudaStreamBeginCaptureToGraph,
    cudaStreamEndCapture,
    cudaStreamUpdateCaptureDependencies,
    cudaUserObjectCreate,
    cudaUserObjectRelease,
);

thread_local! {
    static DEVICE: Cell<c_int> = const { Cell::new(0) };
}

/// One card.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaGetDeviceCount(count: *mut c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(count, 1) }
}

/// The current card.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaGetDevice(device: *mut c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(device, DEVICE.get()) }
}

/// There is one card to choose.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaSetDevice(device: c_int) -> Code {
    if device != 0 {
        return code::fail(101);
    }
    DEVICE.set(device);
    SUCCESS
}

/// The version of the runtime that is really there, so that all agree on the layout of structures.
fn version() -> c_int {
    /// The lookup of the libraries that come after this one.
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

/// The runtime's own version.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaRuntimeGetVersion(at: *mut c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, version()) }
}

/// A driver that is as new as the runtime.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaDriverGetVersion(at: *mut c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, version()) }
}

/// The card's description.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaGetDeviceProperties(at: *mut u8, device: c_int) -> Code {
    if at.is_null() || device != 0 {
        return code::fail(INVALID_VALUE);
    }
    let layout = if version() >= 13_000 { &CUDA_13 } else { &CUDA_12 };
    let bytes = describe(card(), layout);
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
        return code::fail(101);
    }
    // SAFETY: the caller's pointer.
    unsafe { put(at, crate::driver::attribute(attribute)) }
}

/// There is no peer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaDeviceCanAccessPeer(at: *mut c_int, _: c_int, _: c_int) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, 0) }
}

/// The address of the card on a bus that is not there.
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

/// The range of priorities of a card of today.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaDeviceGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> Code {
    // SAFETY: the caller's pointers, each of which may be null.
    unsafe {
        if !least.is_null() {
            put(least, 0);
        }
        if !greatest.is_null() {
            put(greatest, -5);
        }
    }
    SUCCESS
}

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
    if address.is_null() || memory::give(address as u64) { SUCCESS } else { code::fail(INVALID_VALUE) }
}

/// What is free, and all there is.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> Code {
    let (now, all) = memory::info();
    // SAFETY: the caller's pointers.
    unsafe { put(free, now).max(put(total, all)) }
}

unsafe extern "C" {
    fn aligned_alloc(alignment: usize, size: usize) -> Handle;
    fn free(address: Handle);
}

/// Pinned memory is memory.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaHostAlloc(at: *mut Handle, size: usize, _: c_uint) -> Code {
    let Some(size) = size.max(1).checked_next_multiple_of(4096) else { return code::fail(OUT_OF_MEMORY) };
    // SAFETY: a power of two and a multiple of it, as aligned_alloc wants them.
    let address = unsafe { aligned_alloc(4096, size) };
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
    unsafe { free(address) };
    SUCCESS
}

/// Pinned memory has one address for both.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaHostGetDevicePointer(
    at: *mut Handle,
    address: Handle,
    _: c_uint,
) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, address) }
}

/// What kind of memory an address is: 0 not CUDA's, 2 the card's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaPointerGetAttributes(at: *mut c_int, address: *const c_void) -> Code {
    if at.is_null() {
        return code::fail(INVALID_VALUE);
    }
    let of_the_card = memory::is_of_the_card(address as u64);
    // SAFETY: cudaPointerAttributes is two ints and two pointers, in every version; the caller owns one.
    unsafe {
        at.write(if of_the_card { 2 } else { 0 });
        at.add(1).write(0);
        let pointers = at.add(2).cast::<*const c_void>();
        pointers.write_unaligned(if of_the_card { address } else { std::ptr::null() });
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

/// A copy, done at once as well.
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

/// A copy between cards, of which there is one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaMemcpyPeerAsync() -> Code {
    SUCCESS
}

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
    let (major, minor) = card().capability;
    let architecture = 10 * major + minor;
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
