//! A GPU that is not there. Preloaded into a Python process, this library answers for the CUDA runtime and for the
//! driver: one card, as `OOMPH_PHANTOM` describes it, whose memory is handed out and counted, and on which every kernel
//! succeeds at once without being run. PyTorch's own caching allocator works on it as on a real card.
//!
//! What is copied from the card is zeros. Libraries that bring their own runtime (cuBLAS, cuDNN) find no device.
#![allow(unsafe_code)]

mod card;
mod code;
mod copy;
mod driver;
mod memory;
mod order;
mod properties;
mod runtime;
