//! cuSPARSE: products of a sparse matrix and a dense one. Nothing is multiplied. On an H200 they worked in at most a third of a
//! byte for each entry and some hundred bytes (`gpu/measure_libraries.py`), which is taken to be a block of PyTorch's smallest
//! size. A product of two sparse matrices is as long as their values say, so it is refused (functions.txt).

use std::ffi::{c_int, c_void};

use crate::answer::{answer, offer};
use crate::code::{Code, SUCCESS};
use crate::store::{Handle, handle};

/// `CUSPARSE_STATUS_INVALID_VALUE`.
const INVALID_VALUE: Code = 3;
/// What a product works in.
const SMALL: usize = 512;

/// Writes an answer that the caller must want.
///
/// # Safety
/// As for [`offer`].
unsafe fn put<T>(at: *mut T, value: T) -> Code {
    // SAFETY: as for `offer`.
    if unsafe { offer(at, value) } { SUCCESS } else { INVALID_VALUE }
}

/// Memory of the card, or a number that a function is told and does not need.
type Ignored = *const c_void;

answer! {
    fn cusparseCreate(at: *mut Handle) { *at = handle(); }

    fn cusparseCreateMatDescr(at: *mut Handle) { *at = handle(); }

    fn cusparseCreateCsr(
        at: *mut Handle, _: i64, _: i64, _: i64, _: Ignored, _: Ignored, _: Ignored, _: c_int, _: c_int, _: c_int, _: c_int,
    ) { *at = handle(); }

    fn cusparseCreateCoo(
        at: *mut Handle, _: i64, _: i64, _: i64, _: Ignored, _: Ignored, _: Ignored, _: c_int, _: c_int, _: c_int,
    ) { *at = handle(); }

    fn cusparseCreateDnMat(at: *mut Handle, _: i64, _: i64, _: i64, _: Ignored, _: c_int, _: c_int) { *at = handle(); }

    fn cusparseCreateDnVec(at: *mut Handle, _: i64, _: Ignored, _: c_int) { *at = handle(); }

    fn cusparseSpMM_bufferSize(
        _: Handle, _: c_int, _: c_int, _: Ignored, _: Handle, _: Handle, _: Ignored, _: Handle, _: c_int, _: c_int, at: *mut usize,
    ) { *at = SMALL; }

    fn cusparseSpMV_bufferSize(
        _: Handle, _: c_int, _: Ignored, _: Handle, _: Handle, _: Ignored, _: Handle, _: c_int, _: c_int, at: *mut usize,
    ) { *at = SMALL; }

    fn cusparseSDDMM_bufferSize(
        _: Handle, _: c_int, _: c_int, _: Ignored, _: Handle, _: Handle, _: Ignored, _: Handle, _: c_int, _: c_int, at: *mut usize,
    ) { *at = SMALL; }

    fn cusparseXcoosort_bufferSizeExt(
        _: Handle, _: c_int, _: c_int, _: c_int, _: Ignored, _: Ignored, at: *mut usize,
    ) { *at = SMALL; }

    fn cusparseXcsrsort_bufferSizeExt(
        _: Handle, _: c_int, _: c_int, _: c_int, _: Ignored, _: Ignored, at: *mut usize,
    ) { *at = SMALL; }
}
