//! Batch normalization: its workspaces, and what it keeps for its backward pass.

use std::ffi::c_int;

use super::descriptors::TENSORS;
use super::workspaces::normalization::{Pass, workspace};
use super::{BAD_PARAM, put, size};
use crate::answer::answer;
use crate::store::Handle;

answer! {
    fn cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
        _: Handle, _: c_int, _: c_int, input: Handle, _: Handle, _: Handle, _: Handle, _: Handle, at: *mut usize,
    ) {
        *at = match TENSORS.get(input) {
            Some(input) => size(workspace(Pass::Forward, &input)),
            None => return BAD_PARAM,
        };
    }

    fn cudnnGetBatchNormalizationBackwardExWorkspaceSize(
        _: Handle, _: c_int, _: c_int, input: Handle, _: Handle, _: Handle, _: Handle, _: Handle, _: Handle,
        _: Handle, at: *mut usize,
    ) {
        *at = match TENSORS.get(input) {
            Some(input) => size(workspace(Pass::Backward, &input)),
            None => return BAD_PARAM,
        };
    }

    /// Without a fused activation only the saved statistics are kept, and those are PyTorch's own.
    fn cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
        _: Handle, _: c_int, _: c_int, _: Handle, input: Handle, at: *mut usize,
    ) {
        *at = match TENSORS.get(input) {
            Some(_) => 0,
            None => return BAD_PARAM,
        };
    }
}
