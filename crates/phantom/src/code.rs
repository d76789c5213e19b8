//! Result codes, and the last error of a thread.

use std::cell::Cell;

/// What every call of the runtime returns.
pub(crate) type Code = i32;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const INVALID_VALUE: Code = 1;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const INVALID_DEVICE: Code = 101;
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

/// The last failure; it is forgotten.
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
        INVALID_DEVICE => (c"cudaErrorInvalidDevice", c"invalid device ordinal"),
        NOT_FOUND => (c"cudaErrorSymbolNotFound", c"named symbol not found"),
        NOT_SUPPORTED => (
            c"cudaErrorNotSupported",
            c"operation not supported: this GPU is oomph's phantom, which computes nothing",
        ),
        _ => (c"cudaErrorUnknown", c"unknown error"),
    }
}

/// With `OOMPH_PHANTOM_LOG`, says what a program wanted that the phantom does not have.
pub(crate) fn log(name: &str) {
    if std::env::var_os("OOMPH_PHANTOM_LOG").is_some() {
        use std::io::Write;
        // If even standard error is gone, nothing can be done.
        let _ = writeln!(std::io::stderr(), "oomph: the phantom GPU has no {name}");
    }
}
