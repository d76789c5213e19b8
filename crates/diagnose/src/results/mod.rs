//! What each verb finds, as plain values: filled here, by the machine or by a launch; shown by `report`.
//!
//! In reading order: what is known of something that ran out (`explain`), a replay, a search over settings (`tune`), two
//! recordings compared (`diff`), a plan, the measures that make a script fit, a run that has ended, and the machine at one
//! moment (`status`).

pub mod explain;

pub mod replay;

pub mod tune;

pub mod diff;

pub mod plan;

pub mod fit;

pub mod run;

pub mod status;
