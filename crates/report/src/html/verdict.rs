//! The verdict in words: what failed, where, why, and why it was nothing else.

use maud::{Markup, html};
use oomph_diagnose::explain::{Explanation, RuledOut};
use oomph_diagnose::results::explain::DeviceResult;
use oomph_diagnose::rules::Finding;

use crate::verdict;

/// The headline, the causes, and the facts behind them.
pub(super) fn section(result: &DeviceResult) -> Markup {
    let explanation = &result.explanation;
    let beside = explanation.findings.iter().filter(|finding| !verdict::is_cause(finding, explanation));
    html! {
        h1 { (headline(&verdict::headline(result))) }
        (causes(explanation))
        dl {
            @for (label, text) in verdict::facts(result) {
                dt { (label) }
                dd { @if label == "Where" { code { (text) } } @else { (text) } }
            }
            @for finding in beside {
                dt { "Also" }
                dd {
                    @if let Some(cause) = finding.cause { (cause.name()) ": " }
                    (claim(finding)) (evidence(&finding.evidence))
                }
            }
            @for RuledOut { cause, reason } in &explanation.ruled_out {
                dt { "Not" } dd { b { (cause.name()) } ": " (reason) }
            }
        }
    }
}

/// A headline as a page shows it: it begins with a capital, and a number is not parted from what it counts.
pub(super) fn headline(text: &str) -> String {
    let tied = [("GPU ", "GPU\u{a0}"), ("step ", "step\u{a0}"), (" MiB", "\u{a0}MiB"), (" GiB", "\u{a0}GiB")];
    capital(&tied.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to)))
}

/// A sentence's beginning.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// What caused it, with the evidence.
pub(super) fn causes(explanation: &Explanation) -> Markup {
    let unknown = explanation.cause.is_none() && !explanation.ooms.is_empty();
    html! {
        @if unknown {
            div.cause { p.claim { span.name { "Unknown" } ": " (verdict::NO_CAUSE) } }
        }
        @for finding in explanation.findings.iter().filter(|finding| verdict::is_cause(finding, explanation)) {
            div.cause {
                p.claim { @if let Some(cause) = finding.cause { span.name { (cause.name()) } ": " } (claim(finding)) }
                (evidence(&finding.evidence))
            }
        }
    }
}

fn claim(finding: &Finding) -> Markup {
    html! { (finding.claim) " " span.rule { "[" (finding.rule) "]" } }
}

/// The arithmetic behind a claim, a line each.
pub(super) fn evidence(lines: &[String]) -> Markup {
    html! { @if !lines.is_empty() { ul.evidence { @for line in lines { li { (line) } } } } }
}
