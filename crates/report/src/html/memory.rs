//! The memory at the moment as one bar, and as tables whose parts add up.

use maud::{Markup, display, html};
use oomph_diagnose::explain::Explanation;
use oomph_trace::Bytes;

use super::percent;
use crate::breakdown::Breakdown;
use crate::numbers::count;
use crate::verdict;

/// The card at the moment.
pub(super) fn section(all: &Breakdown, explanation: &Explanation) -> Markup {
    html! {
        section.card {
            h2 { (all.heading) }
            p.note {
                "What each line of the program holds, and what is held for nobody. All of it adds up to "
                (display(all.total)) "."
                @if let Some(note) = all.beside_the_bar() { " " (note) }
            }
            (bar(all))
            div.ends { span { "0" } span { (display(all.bar().1)) } }
            (table(all, "held by", true))
            @if let Some(note) = verdict::borrowed(explanation) { p.note { (note) } }
        }
    }
}

/// What was in use by what it was for.
pub(super) fn classes(all: &Breakdown) -> Markup {
    html! { section.card { h2 { (all.heading) } (table(all, "what for", false)) } }
}

fn bar(all: &Breakdown) -> Markup {
    let (parts, total) = all.bar();
    let placed = parts.iter().scan(Bytes::ZERO, |end, part| {
        let begin = *end;
        *end += part.bytes;
        Some((begin, part))
    });
    html! {
        div.bar-frame {
            svg.bar data-total=(total.0) role="group" aria-label={ "Memory, " (display(total)) " in all" } {
                @for (begin, part) in placed {
                    @let tip = format!("{}\n{} ({} bytes)", part.what, part.bytes, count(part.bytes.0));
                    rect class=(part.style) x=(percent(begin, total)) y="0" width=(percent(part.bytes, total))
                        height="60" data-bytes=(part.bytes.0) tabindex="0" role="img" aria-label=(tip) data-tip=(tip) {}
                }
            }
        }
    }
}

/// The parts, each with the colour it has in the bar where `keyed`, and their sum.
fn table(all: &Breakdown, what: &str, keyed: bool) -> Markup {
    let share = |bytes: Bytes| match bytes.share_of(all.total) * 100.0 {
        tiny if tiny < 0.05 => "<0.1%".to_owned(),
        share => format!("{share:.1}%"),
    };
    let amounts = |bytes: Bytes, share: &str| {
        html! { td.n { (display(bytes)) } td.n.exact { (count(bytes.0)) } td.n.share { (share) } }
    };
    html! {
        table.legend.keyless[!keyed] {
            thead {
                tr {
                    @if keyed { th {} }
                    th { (what) } th.n { "size" } th.n.exact-head { "bytes" } th.n.share { "share" }
                }
            }
            tbody {
                @for part in &all.parts {
                    tr {
                        @if keyed { td { span class={ "key " (part.style) } {} } }
                        td {
                            (part.what)
                            @for (bytes, what) in &part.inner { div.inner { (display(bytes)) " " (what) } }
                        }
                        (amounts(part.bytes, &share(part.bytes)))
                    }
                }
                tr.total {
                    @if keyed { td {} }
                    td { (all.source) } (amounts(all.total, "100%"))
                }
            }
        }
    }
}
