//! What findings of the linter cost: the script runs on the phantom GPU as it is, and with a change for each finding.
//!
//! In reading order: a run of a changed copy (`copies`), what two runs say together (`outcome`), and the prover that
//! goes through all findings.

mod copies;

mod outcome;

pub mod prover;
