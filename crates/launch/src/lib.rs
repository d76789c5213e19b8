//! Programs started and watched: a script as it would run alone, with the recorder in it; or on a GPU that is not there.
//!
//! In reading order: what the user configured, the program to start, the allocator settings to start it with, the job made
//! of these, what it tells its processes (`protocol`), the recorder that is laid beside it (`hook`), its folder, the command
//! that starts it; the child and its signals, how the host's memory fared (`pressure`), what is found when it has ended
//! (`aftermath`), whether it is started `again`; a program whose output is taken (`captured`); a recording asked for in
//! between (`dump`); plans, which are runs on a phantom GPU; `prove`, which measures what the linter found by such runs; and
//! `fit`, which searches by them.

pub mod project;

pub mod configuration;

pub mod lint_options;

pub mod program;

pub mod settings;

pub mod measures;

pub mod job;

mod protocol;

mod hook;

pub mod folder;

pub mod command;

mod proc;

mod sentinel;

pub mod child;

pub mod pressure;

pub mod aftermath;

pub mod again;

pub mod members;

pub mod captured;

pub mod dump;

pub mod plan;

pub mod prove;

pub mod fit;
