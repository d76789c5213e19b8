//! What oomph's tests share.
//!
//! In reading order: a device that records its calls; scripts of requests, which draw what an allocator holds; the
//! naive allocator that it is compared with; generated jobs, and the pickles that PyTorch would write of them; a fake
//! of NVIDIA's library; a strict reader of Prometheus' format; and the rules that the repository obeys.

pub mod recorder;

pub mod script;

pub mod model;

pub mod generate;

pub mod pickle;

pub mod nvml;

pub mod exposition;

pub mod tidy;
