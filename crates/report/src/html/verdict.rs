//! The verdict in words: what failed, where, why, and why it was nothing else.

use maud::{Markup, html};
use oomph_diagnose::explain::Explanation;
use oomph_diagnose::judge::Not;
use oomph_diagnose::results::explain::DeviceResult;
use oomph_diagnose::rules::Finding;

use super::prose::prose;
use crate::message::folklore;
use crate::verdict;

/// The headline, the causes, and the facts behind them.
pub(super) fn section(result: &DeviceResult) -> Markup {
    let explanation = &result.explanation;
    html! {
        h1 { (headline(&verdict::headline(result))) }
        (causes(explanation))
        dl {
            @for (label, text) in verdict::facts(result) {
                dt { (label) }
                dd { @if label == "Where" { code { (text) } } @else { (text) } }
            }
            @for finding in &explanation.findings {
                dt { "Also" }
                dd { (claim(finding)) (evidence(&finding.evidence)) }
            }
            @for Not { cause, why: reason } in explanation.verdict.iter().flat_map(|verdict| &verdict.not) {
                dt { "Not" } dd { b { (cause.name()) } ": " (prose(reason)) }
            }
            @if let Some(claim) = explanation.verdict.as_ref().and_then(|verdict| verdict.folklore) {
                dt { "Measured" } dd { "what people say of it: " code { (folklore(claim)) } }
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

/// What caused it, the line to blame, and what to do.
pub(super) fn causes(explanation: &Explanation) -> Markup {
    html! {
        @if let Some(found) = &explanation.verdict {
            div.cause {
                p.claim { span.name { (found.cause.name().replace('_', " ")) } ": " (prose(&found.claim)) }
                @if let Some(culprit) = found.culprits.first() {
                    p { code { (culprit.line.to_string()) } ": " (verdict::did(culprit)) }
                    @if let Some(code) = &culprit.code { pre.mono { (code) } }
                }
            }
            @if let Some(cure) = found.cures.first() {
                div.do { p { b { "Do: " } (prose(&cure.action)) } p.mind { (prose(&verdict::proof(cure))) } }
            }
        } @else if !explanation.ooms.is_empty() {
            div.cause { p.claim { span.name { "Unknown" } ": " (verdict::NO_CAUSE) } }
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
