//! The card of an error's text: what it says without a recording.

use maud::{Markup, html};
use oomph_diagnose::message::{Log, Report};

use super::parts::{headline, memory, place};
use super::verdict::evidence;
use crate::breakdown::Breakdown;
use crate::message;
use crate::numbers::known;
use crate::place::in_traceback;

/// The card of the first failure that a text reports.
pub(super) fn message(log: &Log) -> Markup {
    log.reports.first().map_or_else(|| headline(message::NONE), report)
}

fn report(oom: &Report) -> Markup {
    let found = &oom.verdict;
    html! {
        (headline(&message::headline(oom)))
        div.cause {
            p.claim { span.name { (message::cause(oom)) } ", " (found.confidence.name()) " confidence" }
            (evidence(&found.why))
        }
        @if let Some(line) = in_traceback(oom) { (place(&line, Some(&oom.code))) }
        @for told in oom.shape.map(|shape| shape.sentence).into_iter().chain(found.ask) { p.label { (told) } }
        @if let Some(all) = Breakdown::stated(&oom.facts) { (memory(&all)) }
        @if !oom.fixes.is_empty() { p.label { (message::FIXES) } (fixes(oom)) }
    }
}

fn fixes(oom: &Report) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { th {} th { "change" } th { "why" } th { "known by" } } }
                tbody {
                    @for (rank, fix) in message::fixes(oom) {
                        tr class=(if fix.helps { "helps" } else { "vain" }) {
                            td { (known(rank, "–")) }
                            td { (fix.title) }
                            td { (message::why(fix)) }
                            td { (fix.how.name().trim_start_matches("known from ")) }
                        }
                    }
                }
            }
        }
    }
}
