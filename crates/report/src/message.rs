//! What reports say of an error's text: its headline, and the changes to list.

use oomph_diagnose::advice::Advice;
use oomph_diagnose::cause::Cause;
use oomph_diagnose::message::{Report, Role};

use crate::ranking::ranked;

/// What is said of a text without any.
pub(crate) const NONE: &str = "no report of memory that ran out";

/// What a message is about, in a line.
pub(crate) fn headline(oom: &Report) -> String {
    let device = oom.facts.device.map(|device| format!(" on device {device}")).unwrap_or_default();
    let tried = oom.facts.tried.map(|tried| format!(": {tried} more was asked for")).unwrap_or_default();
    let framework = oom.framework.name();
    match oom.role {
        Role::Warning => format!("no failure: {framework} went on without{device}{tried}"),
        Role::Culprit | Role::Follows if oom.verdict.cause == Cause::HostMemory => {
            format!("out of host memory ({framework}){tried}")
        }
        Role::Culprit | Role::Follows => format!("out of memory{device} ({framework}){tried}"),
    }
}

/// The cause as words.
pub(crate) fn cause(oom: &Report) -> String {
    oom.verdict.cause.name().replace('_', " ")
}

/// The heading of the changes.
pub(crate) const FIXES: &str = "What helps, and how that is known";

/// The changes to list: five that help, three that do not.
pub(crate) fn fixes(oom: &Report) -> Vec<(Option<usize>, &Advice)> {
    ranked(&oom.fixes, |fix| fix.helps, [5, 3])
}

/// Why a change helps or does not; where people often say otherwise, with where that is measured.
pub(crate) fn why(fix: &Advice) -> String {
    match fix.folklore {
        Some(claim) => format!("{}. Measured: {}", fix.why, folklore(claim)),
        None => fix.why.clone(),
    }
}

/// Where a claim that people make is measured.
pub(crate) fn folklore(claim: &str) -> String {
    format!("docs/folklore.md#{claim}")
}
