//! What can be found in a recording. Each rule is one file: a question, answered from the evidence, or silent.

mod capacity;
mod evaluation;
mod fragmentation;
mod graphs;
mod growth;
mod hint;
mod large_request;
mod other_pool;
mod other_stream;
mod outside;
mod pending;
mod private_pools;
mod reference;
mod settings;
mod slack;
mod spurious;

use oomph_engine::recording::Recording;

use crate::cause::Cause;
use crate::explain::Fix;
use crate::moment::Moment;
use crate::steps::Steps;

pub use reference::reference;

/// What the rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The recording.
    pub recording: &'a Recording<'a>,
    /// The failure, or the peak.
    pub moment: &'a Moment,
    /// The iterations.
    pub steps: &'a Steps,
    /// Other settings, replayed; those that help first.
    pub fixes: &'a [Fix],
}

/// What can be read about a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// The rule's number, such as `OOM002`.
    pub id: &'static str,
    /// What it is about, in a word or a few.
    pub name: &'static str,
    /// What it claims, in a line.
    pub summary: &'static str,
    /// What it claims, why that happens, what to do, when it is silent, and what it prints; Markdown of at most 78
    /// columns, without a heading.
    pub page: &'static str,
    /// Its source, beside this file.
    file: &'static str,
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

type Find = fn(&Evidence<'_>) -> Option<Finding>;

/// The rules by number.
const RULES: [(RuleInfo, Find); 15] = [
    (capacity::INFO, capacity::find),
    (fragmentation::INFO, fragmentation::find),
    (growth::INFO, growth::find),
    (spurious::INFO, spurious::find),
    (settings::INFO, settings::find),
    (graphs::INFO, graphs::find),
    (evaluation::INFO, evaluation::find),
    (large_request::INFO, large_request::find),
    (other_pool::INFO, other_pool::find),
    (other_stream::INFO, other_stream::find),
    (pending::INFO, pending::find),
    (private_pools::INFO, private_pools::find),
    (slack::INFO, slack::find),
    (outside::INFO, outside::find),
    (hint::INFO, hint::find),
];

const INFOS: [RuleInfo; RULES.len()] = {
    let mut infos = [RULES[0].0; RULES.len()];
    let mut index = 1;
    while index < RULES.len() {
        infos[index] = RULES[index].0;
        index += 1;
    }
    infos
};

/// Every rule, by number.
pub fn all() -> &'static [RuleInfo] {
    &INFOS
}

/// A rule, named by its number in capitals or not.
pub fn info(rule: &str) -> Option<&'static RuleInfo> {
    all().iter().find(|info| info.id.eq_ignore_ascii_case(rule.trim()))
}

/// The page of a rule, named by its number in capitals or not.
pub fn page(rule: &str) -> Option<&'static str> {
    info(rule).map(|info| info.page)
}

/// Every finding, causes first, else by number.
pub fn run(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().filter_map(|(_, find)| find(evidence)).collect();
    findings.sort_by_key(|finding| finding.cause.is_none());
    findings
}

/// Whether the request would have fitted beside what was in use, so that it failed for the state of the cache. Unknown
/// without a failure or a limit.
fn would_have_fitted(evidence: &Evidence<'_>) -> Option<bool> {
    let failed = evidence.moment.failed?;
    Some(evidence.moment.counters.active + failed.size <= evidence.recording.ceiling()?)
}

/// A share of a whole as people write it.
fn percent(part: oomph_trace::Bytes, whole: oomph_trace::Bytes) -> String {
    format!("{:.0}%", 100.0 * part.share_of(whole))
}
