//! A GPU that is not there. Preloaded into a Python process, this library answers for the CUDA runtime and for the
//! driver: one card, as `OOMPH_PHANTOM` describes it, whose memory is handed out and counted, and on which every kernel
//! succeeds at once without being run. PyTorch's own caching allocator works on it as on a real card.
//!
//! What is copied from the card is zeros. It answers for cuBLAS and cuDNN as well, which bring their own runtime and would
//! find no device, and says so for the libraries that it does not answer for.
#![allow(unsafe_code)]

mod card;

mod code;

mod answer;

mod store;

mod functions;

mod memory;

mod copy;

mod properties;

mod driver;

mod runtime;

mod cublas;

mod cublaslt;

mod cudnn;
