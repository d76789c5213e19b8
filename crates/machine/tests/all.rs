//! What is read of a machine, on made-up ones. All files are one program, so that it is linked once.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

mod machine;
mod status;
mod top;
