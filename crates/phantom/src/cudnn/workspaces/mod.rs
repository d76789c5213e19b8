//! How much memory cuDNN works in, as it was measured on real cards.

pub(crate) mod convolution;
pub(crate) mod normalization;
