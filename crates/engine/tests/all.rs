//! The allocator, and the replay of recordings on it. One program for all of them: each of its own would be linked again.

mod model;
mod policy;
mod replay;
