//! The card of an error's text: what it says without a recording.

use maud::{Markup, html};
use oomph_diagnose::message::{Log, Oom, Shape};

use super::parts::{headline, memory, place};
use super::verdict::evidence;
use crate::breakdown::Breakdown;
use crate::message;
use crate::numbers::known;
use crate::place::in_traceback;

/// The card of the first failure that a text reports.
pub(super) fn message(log: &Log) -> Markup {
    log.ooms.first().map_or_else(|| headline(message::NONE), report)
}

fn report(oom: &Oom) -> Markup {
    let found = &oom.verdict;
    html! {
        (headline(&message::headline(oom)))
        div.cause {
            p.claim { span.name { (message::cause(oom)) } ", " (found.confidence.name()) " confidence" }
            (evidence(&found.why))
        }
        @if let Some(found) = &oom.place { (place(&in_traceback(found), Some(&found.code))) }
        @for told in oom.shape.map(Shape::sentence).into_iter().chain(found.ask) { p.label { (told) } }
        @if let Some(all) = Breakdown::stated(&oom.facts) { (memory(&all)) }
        @if !oom.fixes.is_empty() { p.label { (message::FIXES) } (fixes(oom)) }
    }
}

fn fixes(oom: &Oom) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { th {} th { "change" } th { "why" } th { "known by" } } }
                tbody {
                    @for (rank, fix) in message::fixes(oom) {
                        tr class=(if fix.helps { "helps" } else { "vain" }) {
                            td { (known(rank, "–")) }
                            td { (fix.title) }
                            td { (fix.why) }
                            td { (fix.known.name().trim_start_matches("known from ")) }
                        }
                    }
                }
            }
        }
    }
}
