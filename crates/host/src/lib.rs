//! The machine oomph runs on: its files and cores. The libraries below know neither; both faces of oomph, the command
//! line and Python, meet them through this crate.

pub mod explain;
pub mod input;
pub mod parallel;
pub mod run;
pub mod serve;
pub mod source;
pub mod status;
pub mod verdict;
