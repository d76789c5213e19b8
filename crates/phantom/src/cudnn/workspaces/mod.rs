//! How much memory cuDNN works in, as it was measured on a real card. Which of its engines cuDNN chooses is its secret;
//! what an engine works in is not: copies of its operands in another layout, and partial sums. So the measured
//! convolution that is nearest to the one asked about tells the engine, and the shapes tell the bytes.

pub(crate) mod convolution;
mod measured;
pub(crate) mod normalization;
mod parts;
