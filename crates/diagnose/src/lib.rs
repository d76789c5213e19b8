//! From a recording to what is wrong with it, and from there to changes that a replay has proved.
//!
//! In reading order: the words (causes, phases, whose a frame is), steps and phases as recorded, lines lent from step to
//! step, the lines memory is attributed to, what it was for and for
//! which module, one moment of a run and the card at it, its iterations; the
//! search over settings and which of them help, the rules, advice, what the judge makes of all, and the explanation; what
//! a chart and a map of a run show; two recordings compared; what is exported: allocations, stacks at the peak, and tracks
//! of time; then the reports of runs that left only text; how a job that runs grows; what serving a model takes; last, what
//! each verb finds.

pub mod cause;

pub mod phase;

mod frame;

pub mod phases;

pub mod borrow;

pub mod place;

pub mod classes;

pub mod modules;

pub mod moment;

pub mod card;

mod iterations;

pub mod steps;

pub mod tune;

pub mod placements;

pub mod fixes;

pub mod rules;

pub mod advice;

pub mod oom;

pub mod judge;

pub mod explain;

pub mod timeline;

pub mod class_curves;

pub mod layout;

pub mod diff;

pub mod allocations;

pub mod stacks_at_peak;

pub mod tracks;

pub mod message;

pub mod growth;

pub mod serve;

pub mod results;
