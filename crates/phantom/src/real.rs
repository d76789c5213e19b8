//! The real runtime, and texts as CUDA's functions hand them out.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::code::{self, Code, INVALID_VALUE, SUCCESS};

/// The version of the real runtime, so that all agree on the layout of structures.
pub(crate) fn version() -> c_int {
    /// Looks in the libraries that are loaded after this one.
    const NEXT: *mut c_void = -1_isize as *mut c_void;
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

unsafe extern "C" {
    fn dlopen(name: *const c_char, how: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// glibc's RTLD_LAZY.
const LAZY: c_int = 1;
/// glibc's RTLD_NOLOAD: a library that is there, or none.
const AS_LOADED: c_int = 4;

/// Loads a library, which stays; false where that fails.
pub(crate) fn open(name: &CStr) -> bool {
    // SAFETY: a C string.
    !unsafe { dlopen(name.as_ptr(), LAZY) }.is_null()
}

/// A function of a library that is loaded under one of these names. It is looked for in that library first.
pub(crate) fn loaded(names: &[&CStr], function: &CStr) -> Option<*mut c_void> {
    // SAFETY: a C string.
    let open = |name: &&CStr| unsafe { dlopen(name.as_ptr(), LAZY | AS_LOADED) };
    let library = names.iter().map(open).find(|library| !library.is_null())?;
    // SAFETY: a library that is loaded stays so, and a C string.
    let found = unsafe { dlsym(library, function.as_ptr()) };
    (!found.is_null()).then_some(found)
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
