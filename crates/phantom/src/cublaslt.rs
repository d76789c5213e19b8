//! cuBLASLt. PyTorch allocates the workspace by its own settings, whatever an algorithm would need.

use std::ffi::{c_int, c_void};

use crate::answer::{answer, offer, put};
use crate::code::{Code, SUCCESS};
use crate::real;
use crate::store::{Handle, handle};

/// `cublasLtMatmulHeuristicResult_t`: eight words of the algorithm, its workspace, whether it works, waves, reserve.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Heuristic {
    algorithm: [u64; 8],
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

answer! {
    fn cublasLtCreate(at: *mut Handle) { *at = handle(); }

    fn cublasLtMatrixTransformDescCreate(at: *mut Handle) { *at = handle(); }

    fn cublasLtMatmulDescCreate(at: *mut Handle) { *at = handle(); }

    fn cublasLtMatmulPreferenceCreate(at: *mut Handle) { *at = handle(); }

    fn cublasLtMatrixLayoutCreate(at: *mut Handle) { *at = handle(); }

    /// An algorithm by its number: there is one.
    fn cublasLtMatmulAlgoInit(
        _: Handle, _: c_int, _: c_int, _: c_int, _: c_int, _: c_int, _: c_int, _: c_int, algorithm: *mut [u64; 8],
    ) { *algorithm = [0; 8]; }
}

/// One algorithm, which needs no workspace.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    wanted: c_int,
    results: *mut Heuristic,
    count: *mut c_int,
) -> Code {
    if wanted < 1 || results.is_null() {
        // CUBLAS_STATUS_INVALID_VALUE.
        return 7;
    }
    // SAFETY: the caller's array of at least one result, and its pointer.
    unsafe { put(results, Heuristic { waves: 1.0, ..Heuristic::default() }).max(put(count, 1)) }
}

/// An algorithm needs no workspace.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulAlgoCheck(
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    algorithm: *const [u64; 8],
    result: *mut Heuristic,
) -> Code {
    // SAFETY: null, or the caller's algorithm.
    let algorithm = unsafe { algorithm.as_ref() }.copied().unwrap_or_default();
    // SAFETY: the caller's pointer.
    unsafe { put(result, Heuristic { algorithm, waves: 1.0, ..Heuristic::default() }) }
}

/// Every setting is zero: of an algorithm, of a product, of a layout, of a transformation.
macro_rules! settings {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(
            _: Handle,
            _: c_int,
            at: *mut u8,
            size: usize,
            written: *mut usize,
        ) -> Code {
            // SAFETY: the caller's buffer of `size` bytes, and its pointer, either of which may be null.
            unsafe {
                if !at.is_null() {
                    at.write_bytes(0, size);
                }
                offer(written, size);
            }
            SUCCESS
        }
    )* };
}

settings! {
    cublasLtMatmulAlgoConfigGetAttribute
    cublasLtMatmulDescGetAttribute
    cublasLtMatrixLayoutGetAttribute
    cublasLtMatrixTransformDescGetAttribute
}

/// The version of cuBLASLt where the real library is not to be found: in the process that asks cuDNN it is this library.
const VERSION: usize = 130_100;

/// The version of the real library, where there is one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasLtGetVersion() -> usize {
    let own = cublasLtGetVersion as extern "C" fn() -> usize as *mut c_void;
    match real::loaded(
        &[c"libcublasLt.so.13", c"libcublasLt.so.12", c"libcublasLt.so.11"],
        c"cublasLtGetVersion",
    ) {
        Some(found) if found != own => {
            // SAFETY: the function of this name has this signature in every version.
            let ask: extern "C" fn() -> usize = unsafe { std::mem::transmute(found) };
            ask()
        }
        _ => VERSION,
    }
}

/// The parts of the version: major, minor, patch.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtGetProperty(part: c_int, at: *mut c_int) -> Code {
    let version = cublasLtGetVersion();
    let parts = [version / 10_000, version / 100 % 100, version % 100];
    let found = usize::try_from(part).ok().and_then(|part| parts.get(part)).copied().unwrap_or(0);
    // SAFETY: the caller's pointer.
    unsafe { put(at, c_int::try_from(found).unwrap_or(0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_algorithm_is_found_that_needs_no_workspace() {
        assert_eq!(size_of::<Heuristic>(), 96);
        let none = std::ptr::null_mut();
        let mut results = [Heuristic { workspace: 7, ..Heuristic::default() }; 2];
        let mut count = 0;
        // SAFETY: an array and a variable of this function.
        let code = unsafe {
            cublasLtMatmulAlgoGetHeuristic(
                none,
                none,
                none,
                none,
                none,
                none,
                none,
                2,
                results.as_mut_ptr(),
                &raw mut count,
            )
        };
        assert_eq!((code, count, results[0].workspace, results[1].workspace), (SUCCESS, 1, 0, 7));
    }
}
