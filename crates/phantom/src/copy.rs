//! Copies. A copy from the card gives zeros; a copy to the card does nothing.

use std::ffi::c_void;

use crate::code::{Code, SUCCESS};
use crate::memory::is_of_the_card;
use crate::pinned;

/// Does the part of a copy that touches real memory.
///
/// # Safety
/// Ranges that are not the card's are the caller's to read and write, as for `cudaMemcpy`.
pub(crate) unsafe fn copy(to: *mut c_void, from: *const c_void, count: usize) -> Code {
    if to.is_null() || is_of_the_card(to as u64) {
        return SUCCESS;
    }
    if from.is_null() || is_of_the_card(from as u64) {
        // SAFETY: `to` is host memory of `count` bytes, which the caller of cudaMemcpy gave to be written.
        unsafe { pinned::zero(to, count) };
    } else {
        // SAFETY: both are host memory of `count` bytes; they may overlap, which `copy` allows.
        unsafe { to.cast::<u8>().copy_from(from.cast::<u8>(), count) };
    }
    SUCCESS
}
