//! Batch normalization: what it works in, and what it keeps for its backward pass.

use std::ffi::c_int;

use super::descriptors::{Tensor, tensor};
use super::workspaces::normalization::{self, Pass};
use super::{BAD_PARAM, Handle, put, size};
use crate::code::Code;

fn answer(input: Handle, at: *mut usize, bytes: impl FnOnce(&Tensor) -> u64) -> Code {
    let Some(input) = tensor(input) else { return BAD_PARAM };
    // SAFETY: the pointer that the caller of the function below gave for its answer.
    unsafe { put(at, size(bytes(&input))) }
}

/// What the forward pass works in.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    _: Handle,
    _: c_int,
    _: c_int,
    input: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    at: *mut usize,
) -> Code {
    answer(input, at, |input| normalization::workspace(Pass::Forward, input))
}

/// What the backward pass works in.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    _: Handle,
    _: c_int,
    _: c_int,
    input: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    _: Handle,
    at: *mut usize,
) -> Code {
    answer(input, at, |input| normalization::workspace(Pass::Backward, input))
}

/// What is kept from the forward pass for the backward pass.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    _: Handle,
    _: c_int,
    _: c_int,
    _: Handle,
    input: Handle,
    at: *mut usize,
) -> Code {
    answer(input, at, normalization::reserve)
}
