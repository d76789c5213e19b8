//! What can be found in a recording. Each rule is one file, which answers one question from the evidence or is silent,
//! and one page of `pages/`, which says so to users.

mod growth;

mod capacity;
mod fragmentation;
mod hint;

mod graphs;

mod evaluation;

mod large_request;
mod other_pool;
mod other_stream;
mod outside;
mod pending;
mod private_pools;
mod settings;
mod slack;
mod spurious;

use std::fmt::Write as _;

use oomph_engine::recording::Recording;
use oomph_trace::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cause::Cause;
use crate::fixes::Fix;
use crate::moment::Moment;
use crate::steps::Steps;

/// What the rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// The failure, or the peak.
    pub moment: &'a Moment,
    /// The iterations.
    pub steps: &'a Steps,
    /// Other settings, replayed; those that help first.
    pub fixes: &'a [Fix],
}

/// What can be read about a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Rule")]
pub struct RuleInfo {
    /// Its number, such as `OOM002`.
    #[serde(rename = "rule")]
    pub id: &'static str,
    /// What it is about, in a word or a few.
    pub name: &'static str,
    /// What it claims, in a line.
    pub summary: &'static str,
    /// What it claims, why that happens, what to do, when it is silent, and what it prints; Markdown of at most 78
    /// columns, without a heading.
    pub page: &'static str,
    /// Its source, beside this file.
    #[serde(skip)]
    file: &'static str,
}

impl RuleInfo {
    /// Reads a page: a heading such as `# OOM002: fragmentation`, the summary on a line of its own, then the rest. What
    /// has another form does not compile.
    const fn read(text: &'static str, file: &'static str) -> RuleInfo {
        let (heading, rest) = cut(text);
        let (summary, page) = cut(rest);
        let (id, name) = heading.split_at("# ".len()).1.split_at("OOM000".len());
        RuleInfo { id, name: name.split_at(": ".len()).1, summary, page, file }
    }
}

/// What stands before and after the first empty line.
const fn cut(text: &str) -> (&str, &str) {
    let mut at = 0;
    while text.as_bytes()[at] != b'\n' || text.as_bytes()[at + 1] != b'\n' {
        at += 1;
    }
    let (before, after) = text.split_at(at);
    (before, after.split_at("\n\n".len()).1)
}

/// What a rule found, and is sure of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The rule's number, such as `OOM002`.
    pub rule: &'static str,
    /// The cause it names, if it names one.
    #[schemars(extend("enum" = ["capacity", "fragmentation", "leak", null]))]
    pub cause: Option<Cause>,
    /// The finding in a sentence.
    pub claim: String,
    /// The arithmetic behind it, a line each.
    pub evidence: Vec<String>,
}

/// The table of rules: each row names a page and the module with its `find`.
macro_rules! rules {
    ($($page:literal => $module:ident,)*) => {
        const INFOS: &[RuleInfo] =
            &[$(RuleInfo::read(include_str!(concat!("pages/", $page)), concat!(stringify!($module), ".rs"))),*];
        const FINDS: &[fn(&Evidence<'_>) -> Option<Finding>] = &[$($module::find),*];
    };
}

rules! {
    "OOM001.md" => capacity,
    "OOM002.md" => fragmentation,
    "OOM003.md" => growth,
    "OOM004.md" => spurious,
    "OOM005.md" => settings,
    "OOM006.md" => graphs,
    "OOM007.md" => evaluation,
    "OOM008.md" => large_request,
    "OOM009.md" => other_pool,
    "OOM010.md" => other_stream,
    "OOM011.md" => pending,
    "OOM012.md" => private_pools,
    "OOM013.md" => slack,
    "OOM014.md" => outside,
    "OOM015.md" => hint,
}

/// Every rule, by number.
pub fn all() -> &'static [RuleInfo] {
    INFOS
}

/// A rule, named by its number in capitals or not.
pub fn info(rule: &str) -> Option<&'static RuleInfo> {
    all().iter().find(|info| info.id.eq_ignore_ascii_case(rule.trim()))
}

/// All pages as one document, `docs/reference/rules.md`.
pub fn reference() -> String {
    let mut text = include_str!("pages/introduction.md").to_owned();
    text.push_str("\n| rule | about | |\n|---|---|---|\n");
    for info in all() {
        let _ = writeln!(text, "| {} | {} | {} |", info.id, info.name, info.summary);
    }
    for info in all() {
        let _ = writeln!(text, "\n## {}: {}\n\n{}", info.id, info.name, info.page);
        let _ = writeln!(text, "**In** [{0}](../../crates/diagnose/src/rules/{0}).", info.file);
    }
    text + "\n" + include_str!("pages/ruled-out.md")
}

/// Every finding, causes first, else by number.
pub fn run(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = FINDS.iter().filter_map(|find| find(evidence)).collect();
    findings.sort_by_key(|finding| finding.cause.is_none());
    findings
}

/// Whether the request would have fitted beside what was in use; then it failed because of the state of the cache.
/// `None` without a failure or a known limit.
fn would_have_fitted(evidence: &Evidence<'_>) -> Option<bool> {
    let failed = evidence.moment.failed?;
    Some(evidence.moment.counters.active + failed.size <= evidence.recording.ceiling()?)
}

/// A share of a whole as people write it.
fn percent(part: Bytes, whole: Bytes) -> String {
    format!("{:.0}%", 100.0 * part.share_of(whole))
}
