//! Recordings through the whole of oomph, and the rules of the repository. One program for all of them: each of its own would be linked again.

mod fidelity;
mod generate;
mod reading;
mod round_trip;
mod sidecar;
mod tidy;
