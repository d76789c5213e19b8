//! Recordings through the whole of oomph, and the rules of the repository. All files are one program, so
//! that it is linked once.

mod fidelity;
mod generate;
mod reading;
mod round_trip;
mod sidecar;
mod tidy;
