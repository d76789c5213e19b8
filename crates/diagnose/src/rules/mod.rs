//! What can be found in a recording. Each rule is one file: a question, answered from the evidence, or silent.

mod capacity;
mod fragmentation;
mod growth;
mod settings;
mod spurious;

use oomph_engine::recording::Recording;

use crate::moment::Moment;
use crate::steps::Steps;

/// What the rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The recording.
    pub recording: &'a Recording<'a>,
    /// The failure, or the peak.
    pub moment: &'a Moment,
    /// The iterations.
    pub steps: &'a Steps,
}

/// What a rule is sure of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's number, such as `OOM002`.
    pub rule: &'static str,
    /// The cause it names, if it names one.
    pub cause: Option<Cause>,
    /// The finding in a sentence.
    pub claim: String,
    /// The arithmetic behind it, a line each.
    pub evidence: Vec<String>,
}

/// Why a job ran out of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// More was needed than there is.
    Capacity,
    /// There was enough, in pieces that could not serve the request.
    Fragmentation,
    /// Memory grew with every iteration.
    Leak,
}

impl Cause {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Capacity => "capacity",
            Cause::Fragmentation => "fragmentation",
            Cause::Leak => "leak",
        }
    }
}

/// Every finding, causes first, else by number.
pub fn run(evidence: &Evidence<'_>) -> Vec<Finding> {
    let rules: [fn(&Evidence<'_>) -> Option<Finding>; 5] =
        [capacity::find, fragmentation::find, growth::find, spurious::find, settings::find];
    let mut findings: Vec<Finding> = rules.iter().filter_map(|rule| rule(evidence)).collect();
    findings.sort_by_key(|finding| finding.cause.is_none());
    findings
}
