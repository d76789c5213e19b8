//! `oomph` as people use it: what it prints, and how it ends. All files are one program, so that it is linked once.

mod behaviour;
mod golden;
mod ground;
mod mcp;
mod recorded;
mod run;
mod run_after;
mod run_settings;
mod run_signals;
mod status;
mod top;
