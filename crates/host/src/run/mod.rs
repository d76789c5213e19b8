//! Running a script as it would run alone, with the recorder in it, and saying afterwards how it went.
//!
//! In reading order: what is asked for (`plan`, of flags and of `configuration`), the program to start, the settings to
//! start it with, the folder of the run and the hook in it, the child and its signals; then what it left (`notes`),
//! what became of the host's memory, and the words about it (`aftermath`).

pub mod plan;

pub mod configuration;

pub mod program;

pub mod settings;

pub mod folder;

pub mod hook;

#[cfg(unix)]
pub mod child;
