//! Allocators as state machines over a [`Device`](device::Device), and the replay of traces on them.
//!
//! In reading order: what a device is, the addresses it gives and a simulated one, the counters, PyTorch's allocator;
//! then the program behind a trace, its replay, the check that the replay is exact, what a recorder states, and a
//! recording understood.

pub mod device;

pub mod space;

pub mod simulated;

pub mod counters;

pub mod torch;

pub mod program;

pub mod replay;

pub mod fidelity;

mod stated;

pub mod recording;
