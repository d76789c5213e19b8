//! NVIDIA's management library (NVML), loaded at run time: a machine without it gets an error, not a crash.
//!
//! In reading order: what can go wrong, the functions with their C signatures, the library, a GPU, its processes.
//! Everything that the crate offers is safe to call.

#![allow(unsafe_code)]

mod error;

mod functions;

mod nvml;

mod device;

mod processes;

pub use device::{Device, Memory};
pub use error::{Code, Error};
pub use nvml::Nvml;
pub use processes::Process;
