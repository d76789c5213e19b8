//! The workspaces of cuDNN, as they were measured on a real card. Which engine cuDNN chooses is not documented, but
//! what an engine needs can be seen: copies of its operands in another layout, and partial sums. So the nearest
//! measured convolutions tell the engine, and the shapes tell the bytes.

pub(crate) mod convolution;
mod measured;
pub(crate) mod normalization;
mod parts;
