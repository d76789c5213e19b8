//! cuDNN. Nothing is computed; what matters is how much memory each operation asks for, which is answered from the
//! shapes that its descriptors carry. Versions and the words for errors are the real library's: those functions are
//! not answered here.

mod attention;
mod convolution;
mod descriptors;
mod graph;
mod normalization;
mod problem;
mod recurrent;
mod store;
mod workspaces;

use std::ffi::{c_int, c_void};

use crate::code::{Code, SUCCESS, log};
use crate::library::succeed;
use crate::order;

type Handle = *mut c_void;

/// `CUDNN_STATUS_BAD_PARAM`, of version 9.
const BAD_PARAM: Code = 2000;
/// `CUDNN_STATUS_NOT_SUPPORTED`, of version 9.
const NOT_SUPPORTED: Code = 3000;

/// The failure of something that the phantom does not know.
fn unknown(name: &str) -> Code {
    log(name);
    NOT_SUPPORTED
}

/// Writes an answer where the caller wants it.
///
/// # Safety
/// `at` is null or points to memory for a `T` that the caller owns; the signatures of cuDNN's functions promise that.
unsafe fn put<T>(at: *mut T, value: T) -> Code {
    if at.is_null() {
        return BAD_PARAM;
    }
    // SAFETY: not null, and the caller of this function vouches for the rest.
    unsafe { at.write_unaligned(value) };
    SUCCESS
}

/// Writes an answer that the caller may not want.
///
/// # Safety
/// As for [`put`].
unsafe fn offer<T>(at: *mut T, value: T) {
    if !at.is_null() {
        // SAFETY: as for `put`.
        unsafe { put(at, value) };
    }
}

/// Bytes of an element by `cudnnDataType_t`; zero for a type that is not known.
fn bytes_of(data_type: c_int) -> u64 {
    match data_type {
        // float, int32, 4 × int8; 32 × int8 is rated by its vectors elsewhere.
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

/// A handle that no other has.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnCreate(at: *mut Handle) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, order::handle() as Handle) }
}

/// The default stream: which one it is changes nothing here.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnGetStream(_: Handle, at: *mut Handle) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, std::ptr::null_mut()) }
}

/// The state of dropout: one generator for each thread that a card runs at once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnDropoutGetStatesSize(_: Handle, at: *mut usize) -> Code {
    let card = crate::card::card();
    let threads =
        card.processors.unsigned_abs() as usize * card.threads_per_processor().unsigned_abs() as usize;
    // SAFETY: the caller's pointer.
    unsafe { put(at, threads * 24) }
}

/// The loss of connectionist temporal classification works in alpha and beta: two rows of labels and blanks for each
/// step, here taken for as many labels as there are steps.
fn ctc_workspace(probabilities: Handle) -> usize {
    let Some(tensor) = descriptors::tensor(probabilities) else { return 0 };
    let [steps, batch, ..] = tensor.dims.as_slice() else { return 0 };
    usize::try_from(2 * steps * batch * (2 * steps + 1) * 4).unwrap_or(0)
}

/// What the loss works in.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnGetCTCLossWorkspaceSize(
    _: Handle,
    probabilities: Handle,
    _: Handle,
    _: *const c_int,
    _: *const c_int,
    _: *const c_int,
    _: c_int,
    _: Handle,
    at: *mut usize,
) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, ctc_workspace(probabilities)) }
}

/// The same for labels that lie on the card.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnGetCTCLossWorkspaceSize_v8(
    _: Handle,
    _: c_int,
    _: Handle,
    probabilities: Handle,
    _: Handle,
    at: *mut usize,
) -> Code {
    // SAFETY: the caller's pointer.
    unsafe { put(at, ctc_workspace(probabilities)) }
}

succeed!(
    cudnnBatchNormalizationBackwardEx,
    cudnnBatchNormalizationForwardInference,
    cudnnBatchNormalizationForwardTrainingEx,
    cudnnCTCLoss,
    cudnnCTCLoss_v8,
    cudnnConvolutionBackwardData,
    cudnnConvolutionBackwardFilter,
    cudnnConvolutionBiasActivationForward,
    cudnnConvolutionForward,
    cudnnPoolingForward,
    cudnnRNNBackwardData_v8,
    cudnnRNNBackwardWeights_v8,
    cudnnRNNForward,
    cudnnRestoreDropoutDescriptor,
    cudnnSetActivationDescriptor,
    cudnnSetCTCLossDescriptorEx,
    cudnnSetCTCLossDescriptor_v9,
    cudnnSetDropoutDescriptor,
    cudnnSetPooling2dDescriptor,
    cudnnSetSpatialTransformerNdDescriptor,
    cudnnSetStream,
    cudnnSpatialTfGridGeneratorBackward,
    cudnnSpatialTfGridGeneratorForward,
    cudnnSpatialTfSamplerBackward,
    cudnnSpatialTfSamplerForward,
);

/// What is counted in `usize` by C, from a size in bytes.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
