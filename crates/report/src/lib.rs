//! oomph's results: as text and as a page for people, as versioned JSON for programs, and one of them for Prometheus.
//!
//! In reading order: how foreign text is shown, what the reports share (sentences and the tables behind them), then one
//! module for each form.

mod printable;

mod numbers;

mod place;

mod ranking;

mod settings;

mod recording;

mod verdict;

mod breakdown;

mod compared;

mod headline;

mod message;

pub mod json;

pub mod text;

pub mod html;

pub mod editors;

pub mod prometheus;

pub mod export;

pub mod view;
