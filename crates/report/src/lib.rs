//! oomph's results: as text for people, as versioned JSON for programs.

pub mod results;

pub mod text;

pub mod json;
