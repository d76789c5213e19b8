//! Result codes, and the last error of a thread.

use std::cell::Cell;

/// What every call of the runtime returns.
pub(crate) type Code = i32;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const INVALID_VALUE: Code = 1;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const NOT_FOUND: Code = 500;
pub(crate) const NOT_SUPPORTED: Code = 801;

thread_local! {
    static LAST: Cell<Code> = const { Cell::new(SUCCESS) };
}

/// Notes a failure for `cudaGetLastError`, and returns it.
pub(crate) fn fail(code: Code) -> Code {
    LAST.set(code);
    code
}

/// The last failure, which is forgotten.
pub(crate) fn take() -> Code {
    LAST.replace(SUCCESS)
}

/// The last failure.
pub(crate) fn peek() -> Code {
    LAST.get()
}

/// A code's name and its text, as C strings.
pub(crate) fn words(code: Code) -> (&'static std::ffi::CStr, &'static std::ffi::CStr) {
    match code {
        SUCCESS => (c"cudaSuccess", c"no error"),
        INVALID_VALUE => (c"cudaErrorInvalidValue", c"invalid argument"),
        OUT_OF_MEMORY => (c"cudaErrorMemoryAllocation", c"out of memory"),
        NOT_FOUND => (c"cudaErrorSymbolNotFound", c"named symbol not found"),
        NOT_SUPPORTED => (
            c"cudaErrorNotSupported",
            c"operation not supported: this GPU is oomph's phantom, which computes nothing",
        ),
        _ => (c"cudaErrorUnknown", c"unknown error"),
    }
}

/// Writes an answer where the caller wants it.
///
/// # Safety
/// `at` is null or points to memory for a `T` that the caller owns; the signatures of CUDA's functions promise that.
pub(crate) unsafe fn put<T>(at: *mut T, value: T) -> Code {
    if at.is_null() {
        return fail(INVALID_VALUE);
    }
    // SAFETY: not null, and the caller of this function vouches for the rest. C gives no alignment beyond the type's.
    unsafe { at.write_unaligned(value) };
    SUCCESS
}

/// The failure of a function that the phantom does not have.
pub(crate) fn refuse(name: &str) -> Code {
    log(name);
    fail(NOT_SUPPORTED)
}

/// Says which function of CUDA a program wanted and the phantom does not have, where `OOMPH_PHANTOM_LOG` asks for it.
pub(crate) fn log(name: &str) {
    if std::env::var_os("OOMPH_PHANTOM_LOG").is_some() {
        use std::io::Write;
        // Nothing is left to do where even standard error is gone.
        let _ = writeln!(std::io::stderr(), "oomph: the phantom GPU has no {name}");
    }
}
