//! oomph's results: as text and as a page for people, as versioned JSON for programs, and one of them for Prometheus.

mod words;

mod memory;

pub mod json;

pub mod text;

pub mod html;

pub mod prometheus;
