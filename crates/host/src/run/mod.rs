//! Running a script as it would run alone, with the recorder in it, and saying afterwards how it went.
//!
//! In reading order: what is asked for (`plan`, of flags and of `configuration`), the program to start, the settings to
//! start it with, the folder of the run and the hook in it, the child and its signals; then what its
//! processes noted, how the host's memory fared (`pressure`), the verdict on a recording, and what is said of it all
//! (`aftermath`).

pub mod plan;

pub mod configuration;

pub mod program;

pub mod settings;

pub mod folder;

pub mod hook;

#[cfg(unix)]
pub mod child;

pub mod notes;

#[cfg(unix)]
pub mod pressure;

pub mod verdict;

pub mod contents;

#[cfg(unix)]
pub mod aftermath;

#[cfg(unix)]
pub mod dump;
