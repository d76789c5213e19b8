//! What batch normalization works in and keeps.

use crate::cudnn::descriptors::Tensor;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// From input to output.
    Forward,
    /// From the output's gradient to the input's.
    Backward,
}

/// What a pass works in.
pub(crate) fn workspace(_: Pass, _: bool, _: &Tensor) -> u64 {
    0
}

/// What is kept for the backward pass.
pub(crate) fn reserve(_: bool, _: &Tensor) -> u64 {
    0
}
