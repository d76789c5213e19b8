//! Copies. A copy from the card gives zeros, unless a collective left something there; a copy to the card does nothing.

use std::ffi::c_void;

use crate::code::{Code, SUCCESS};
use crate::memory::is_of_the_card;
use crate::{known, pinned};

/// Does the part of a copy that touches real memory.
///
/// # Safety
/// Ranges that are not the card's are the caller's to read and write, as for `cudaMemcpy`.
pub(crate) unsafe fn copy(to: *mut c_void, from: *const c_void, count: usize) -> Code {
    let (is_to_card, is_from_card) = (is_of_the_card(to as u64), is_of_the_card(from as u64));
    if to.is_null() || is_to_card {
        if is_to_card && is_from_card {
            known::copy(to as u64, from as u64, count);
        } else if is_to_card && !from.is_null() {
            // SAFETY: host memory of `count` bytes, which the caller of cudaMemcpy gave to be read.
            unsafe { known::write(to as u64, from.cast(), count) };
        }
        return SUCCESS;
    }
    if from.is_null() || is_from_card {
        if let Some(bytes) = known::read(from as u64, count) {
            // SAFETY: `to` is host memory of `count` bytes, which is how many were read.
            unsafe { to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            return SUCCESS;
        }
        // SAFETY: `to` is host memory of `count` bytes, which the caller of cudaMemcpy gave to be written.
        unsafe { pinned::zero(to, count) };
    } else {
        // SAFETY: both are host memory of `count` bytes; they may overlap, which `copy` allows.
        unsafe { to.cast::<u8>().copy_from(from.cast::<u8>(), count) };
    }
    SUCCESS
}
