//! The workspaces of cuDNN, as they were measured on a real card. Which engine cuDNN chooses is not documented, but
//! what an engine needs can be seen: copies of its operands in another layout, and partial sums. So the nearest
//! measured convolutions tell the engine, and the shapes tell the bytes.

mod measured;
mod parts;
pub(crate) mod convolution;
pub(crate) mod normalization;
pub(crate) mod recurrent;
