//! The allocator, and the replay of recordings on it. All files are one program, so that it is linked once.

mod model;
mod policy;
mod replay;
