//! What each verb finds, as plain values: filled here, by the machine or by a launch; shown by `report`.
//!
//! In reading order: what is known of something that ran out (`explain`), a replay, a search over settings (`tune`), two
//! recordings compared (`diff`), a plan, a model that is served (`serve`), the measures that make a script fit, a run that has ended, a job that runs
//! (`live`), the machine at one moment (`status`), and the same as jobs and what else is on the GPUs (`top`).

pub mod explain;

pub mod replay;

pub mod tune;

pub mod diff;

pub mod plan;

pub mod serve;

pub mod fit;

pub mod run;

pub mod live;

pub mod status;

pub mod top;
