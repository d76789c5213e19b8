//! The machine oomph runs on. The libraries below know no files, cores or processes; both faces of oomph, the command
//! line and Python, meet them through this crate.
//!
//! In reading order: whom it believes, the cores that replay settings, a file and what it holds, the folder of a run, the user's
//! source, and from any of these to what is explained or compared; the machine's memory; connections, a page that serves
//! that memory, and a page that shows recordings.

pub mod trust;

pub mod cores;

pub mod file;

pub mod run_folder;

pub mod source;

pub mod explain;

pub mod compare;

pub mod python_files;

pub mod status;

pub mod connections;

pub mod serve;

pub mod view;
