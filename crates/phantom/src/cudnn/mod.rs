//! cuDNN. Nothing is computed. What matters is how much memory each operation asks for; that is answered from the
//! shapes that its descriptors carry. Functions about versions and errors are left to the real library.

mod descriptors;
mod problem;
mod number;
mod library;
mod splits;
mod engines;
mod asking;
mod workspaces;
mod convolution;
mod graph;
mod normalization;
mod recurrent;

use crate::card::threads_per_processor;
use std::ffi::c_int;

use crate::answer::{answer, offer};
use crate::code::{Code, SUCCESS, log};
use crate::store::{Handle, handle};

/// `CUDNN_STATUS_BAD_PARAM`, of version 9.
const BAD_PARAM: Code = 2000;
/// `CUDNN_STATUS_NOT_SUPPORTED`, of version 9.
const NOT_SUPPORTED: Code = 3000;

/// The failure of something that the phantom does not know.
fn unknown(name: &str) -> Code {
    log(name);
    NOT_SUPPORTED
}

/// Success where a handle was found.
fn found(is_known: bool) -> Code {
    if is_known { SUCCESS } else { BAD_PARAM }
}

/// Writes an answer that the caller must want.
///
/// # Safety
/// As for [`offer`].
unsafe fn put<T>(at: *mut T, value: T) -> Code {
    // SAFETY: as for `offer`.
    found(unsafe { offer(at, value) })
}

/// Bytes of an element by `cudnnDataType_t`; zero for a type that is not known.
fn bytes_of(data_type: c_int) -> u64 {
    match data_type {
        // float, int32, 4 × int8.
        0 | 4 | 5 => 4,
        // double, int64.
        1 | 10 => 8,
        // half, bfloat16.
        2 | 9 => 2,
        // int8, uint8, 8-bit floats, boolean.
        3 | 6 | 11 | 12 | 13 => 1,
        _ => 0,
    }
}

/// A number of bytes as C counts them.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The state of dropout: one generator for each thread that the card runs at once.
fn dropout_state() -> usize {
    let card = crate::card::card();
    card.multiprocessors as usize * threads_per_processor(card).unsigned_abs() as usize * 24
}

/// The workspace of the CTC loss: alpha and beta, each with a row of labels and blanks for every step. As many labels
/// are assumed as there are steps.
fn ctc_workspace(probabilities: Handle) -> usize {
    let Some(tensor) = descriptors::TENSORS.get(probabilities) else { return 0 };
    let [steps, batch, ..] = tensor.dims.as_slice() else { return 0 };
    usize::try_from(2 * steps * batch * (2 * steps + 1) * 4).unwrap_or(0)
}

answer! {
    fn cudnnCreate(at: *mut Handle) { *at = handle(); }

    /// The default stream: which one it is changes nothing here.
    fn cudnnGetStream(_: Handle, at: *mut Handle) { *at = std::ptr::null_mut(); }

    fn cudnnDropoutGetStatesSize(_: Handle, at: *mut usize) { *at = dropout_state(); }

    fn cudnnGetCTCLossWorkspaceSize(
        _: Handle, probabilities: Handle, _: Handle, _: *const c_int, _: *const c_int, _: *const c_int, _: c_int,
        _: Handle, at: *mut usize,
    ) { *at = ctc_workspace(probabilities); }

    /// The same for labels that lie on the card.
    fn cudnnGetCTCLossWorkspaceSize_v8(
        _: Handle, _: c_int, _: Handle, probabilities: Handle, _: Handle, at: *mut usize,
    ) { *at = ctc_workspace(probabilities); }
}
