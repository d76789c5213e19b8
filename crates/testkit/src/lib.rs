//! What oomph's tests share.
//!
//! In reading order: a device that remembers what it was asked; scripts that say what an allocator is asked and draw
//! what it holds; the naive allocator it is compared with; generated jobs and the pickles PyTorch would write of
//! them; a fake of NVIDIA's library; a
//! strict reader of Prometheus' format; and the rules the repository obeys.

pub mod recorder;

pub mod script;

pub mod model;

pub mod generate;

pub mod pickle;

pub mod nvml;

pub mod exposition;

pub mod tidy;
