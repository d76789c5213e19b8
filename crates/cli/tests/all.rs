//! `oomph` as people use it: what it prints, and how it ends. One program for all of them: each of its own would be linked again.

mod behaviour;
mod golden;
mod ground;
mod recorded;
mod run;
mod run_after;
mod run_settings;
mod run_signals;
mod status;
