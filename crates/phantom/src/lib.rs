//! A GPU that is not there. Preloaded into a Python process, this library answers for the CUDA runtime and for the
//! driver: one card, as `OOMPH_PHANTOM` describes it, whose memory is handed out and counted, and on which every kernel
//! succeeds at once without being run. PyTorch's own caching allocator works on it as on a real card.
//!
//! A copy from the card gives zeros. The phantom also answers for cuBLAS and cuDNN, which bring their own runtime and
//! would find no device, and for NCCL, whose other ranks are not there either. Functions of other libraries print that the phantom does not have them.
//!
//! In reading order: the card, codes, the real runtime, answers, handles, functions that need no code, the card's memory,
//! pinned and managed memory, contents that collectives leave, copies, then one module for each library; last, random numbers.
#![allow(unsafe_code)]

mod card;

mod code;

mod real;

mod answer;

mod store;

mod functions;

mod memory;

mod pages;

mod pinned;

mod managed;

mod known;

mod copy;

mod properties;

mod mapping;

mod driver;

mod runtime;

mod cublas;

mod cublaslt;

mod cudnn;

mod cufft;

mod cusolver;

mod cusparse;

mod nccl;

mod twister;
