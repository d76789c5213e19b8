//! The settings that were replayed, and what to do.

use maud::{Markup, display, html};
use oomph_diagnose::explain::Explanation;
use oomph_diagnose::results::explain::DeviceResult;

use super::prose::prose;
use super::verdict::capital;
use crate::numbers::{count, known};
use crate::settings;

/// The page's section; empty where nothing was replayed.
pub(super) fn section(result: &DeviceResult) -> Markup {
    let explanation = &result.explanation;
    let columns = settings::columns(result).map(|text| format!(" {}.", capital(&text)));
    html! {
        @if !explanation.fixes.is_empty() {
            section.card {
                h2 { (settings::heading(explanation)) }
                p.note { "Each is known by replaying the recording under it." (columns.unwrap_or_default()) }
                (table(result))
                (remedy(explanation))
                @if !explanation.advice.is_empty() { h3 { "Beside settings" } (advice(explanation)) }
            }
        }
    }
}

/// The settings, those that help first.
pub(super) fn table(result: &DeviceResult) -> Markup {
    let explanation = &result.explanation;
    let failed = !explanation.ooms.is_empty();
    let limit = result.recording.ceiling();
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th {} th { "settings" } th.n { "peak held" } th.n { "retries" }
                        @if failed { th.n { "room" } }
                        th { "fits" } th { "known by" }
                    }
                }
                tbody {
                    @for (rank, fix) in settings::listed(explanation) {
                        @let (tried, fits) = (&fix.candidate, settings::fits(&fix.candidate, limit));
                        tr class=(if fix.helps { "helps" } else { "vain" }) {
                            td { (known(rank, "–")) }
                            td { code { (settings::named(&tried.options, "defaults")) } }
                            td.n { (display(tried.peak_reserved)) }
                            td.n { (count(tried.retries)) }
                            @if failed { td.n { (known(tried.room, "-")) } }
                            td class=(fits) { (fits) }
                            td { "replay" }
                        }
                    }
                }
            }
        }
    }
}

/// What to do first, where the verdict above has not said it, and what to mind about it.
pub(super) fn remedy(explanation: &Explanation) -> Markup {
    let is_said = explanation.verdict.as_ref().is_some_and(|verdict| !verdict.cures.is_empty());
    let remedy = settings::remedy(explanation).filter(|remedy| !is_said || !remedy.risks.is_empty());
    html! {
        @if let Some(remedy) = remedy {
            div.do {
                @if !is_said {
                    p { b { "Do" } " " @if remedy.is_setting { code { (remedy.text) } } @else { (prose(&remedy.text)) } }
                }
                @for risk in remedy.risks { p.mind { b { "Mind" } " " (risk) } }
            }
        }
    }
}

/// What to change in the program, then what is tried in vain.
pub(super) fn advice(explanation: &Explanation) -> Markup {
    html! {
        ul.advice {
            @for (rank, text) in settings::beside(explanation) {
                li.vain[rank.is_none()] { (prose(&text)) }
            }
        }
    }
}
