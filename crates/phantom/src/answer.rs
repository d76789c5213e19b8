//! Answers: what C's functions write through the pointers that they are given.

use crate::code::{Code, INVALID_VALUE, SUCCESS, fail};

/// Writes an answer where the caller wants it; false where the caller wants none.
///
/// # Safety
/// `at` is null or points to memory for a `T` that the caller owns; the signatures of CUDA's functions promise that.
pub(crate) unsafe fn offer<T>(at: *mut T, value: T) -> bool {
    if !at.is_null() {
        // SAFETY: not null, and the caller of this function vouches for the rest. Alignment is not relied on.
        unsafe { at.write_unaligned(value) };
    }
    !at.is_null()
}

/// Writes an answer that the caller must want; otherwise the runtime's last error says so.
///
/// # Safety
/// As for [`offer`].
pub(crate) unsafe fn put<T>(at: *mut T, value: T) -> Code {
    // SAFETY: as for `offer`.
    if unsafe { offer(at, value) } { SUCCESS } else { fail(INVALID_VALUE) }
}

/// Functions that only write answers: `fn cudaGetDevice(device: *mut c_int) { *device = 0; }`.
///
/// Each writes with the `put` of the module that it is in, and returns the worst of its codes.
macro_rules! answer {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($argument:tt: $type:ty),* $(,)?) { $(*$at:ident = $value:expr;)+ }
    )*) => { $(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $crate::code::Code {
            // SAFETY: CUDA's header has this signature, so the caller owns what these pointers point to.
            $crate::code::SUCCESS$(.max(unsafe { put($at, $value) }))+
        }
    )* };
}

pub(crate) use answer;
