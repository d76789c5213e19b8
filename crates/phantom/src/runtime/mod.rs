//! The CUDA runtime, as far as PyTorch's libraries call it. Signatures are CUDA's.
//!
//! Every function here is called by C with the arguments that CUDA's headers promise; that is what each `SAFETY` note
//! means by "the caller".

mod capture;
mod device;
mod queue;
mod storage;

pub(crate) use storage::{cudaFree, cudaMalloc};
