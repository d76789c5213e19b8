//! cuBLAS. Products are not computed. Their workspaces are PyTorch's own allocations, so they are counted all the same.

use std::ffi::{c_int, c_void};

use crate::answer::{answer, put};
use crate::code::{Code, SUCCESS};
use crate::store::{Handle, Store, lifetime};

/// What a handle remembers.
#[derive(Clone, Copy, Default)]
struct Modes {
    /// Where scalars are read from: the host or the card.
    pointer: c_int,
    /// Which mathematics is allowed.
    math: c_int,
}

static MODES: Store<Modes> = Store::new();

fn modes(handle: Handle) -> Modes {
    MODES.get(handle).unwrap_or_default()
}

lifetime! {
    cublasCreate_v2, cublasDestroy_v2, MODES;
}

answer! {
    fn cublasGetMathMode(handle: Handle, at: *mut c_int) { *at = modes(handle).math; }

    fn cublasGetPointerMode_v2(handle: Handle, at: *mut c_int) { *at = modes(handle).pointer; }
}

/// Factors of many matrices: the host is told which argument is wrong, and none is.
macro_rules! factors {
    ($($name:ident)*) => { answer! { $(
        fn $name(
            _: Handle, _: c_int, _: c_int, _: *const c_void, _: c_int, _: *const c_void, wrong: *mut c_int, _: c_int,
        ) { *wrong = 0; }
    )* } };
}

factors! { cublasSgeqrfBatched cublasDgeqrfBatched cublasCgeqrfBatched cublasZgeqrfBatched }

/// Least squares of many matrices, alike.
macro_rules! least_squares {
    ($($name:ident)*) => { answer! { $(
        fn $name(
            _: Handle, _: c_int, _: c_int, _: c_int, _: c_int, _: *const c_void, _: c_int, _: *const c_void, _: c_int,
            wrong: *mut c_int, _: *const c_void, _: c_int,
        ) { *wrong = 0; }
    )* } };
}

least_squares! { cublasSgelsBatched cublasDgelsBatched cublasCgelsBatched cublasZgelsBatched }

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasSetMathMode(handle: Handle, mode: c_int) -> Code {
    MODES.change(handle, |modes| modes.math = mode);
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasSetPointerMode_v2(handle: Handle, mode: c_int) -> Code {
    MODES.change(handle, |modes| modes.pointer = mode);
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_distinct_and_remember_their_modes() {
        let (mut first, mut second) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: pointers to variables of this function.
        unsafe {
            assert_eq!(cublasCreate_v2(&raw mut first), SUCCESS);
            assert_eq!(cublasCreate_v2(&raw mut second), SUCCESS);
        }
        assert_ne!(first, second);
        cublasSetMathMode(first, 3);
        cublasSetPointerMode_v2(second, 1);
        let mut seen = [9; 4];
        // SAFETY: pointers to elements of an array of this function.
        unsafe {
            cublasGetMathMode(first, &raw mut seen[0]);
            cublasGetMathMode(second, &raw mut seen[1]);
            cublasGetPointerMode_v2(first, &raw mut seen[2]);
            cublasGetPointerMode_v2(second, &raw mut seen[3]);
        }
        assert_eq!(seen, [3, 0, 0, 1]);
        assert_eq!(cublasDestroy_v2(first), SUCCESS);
    }
}
