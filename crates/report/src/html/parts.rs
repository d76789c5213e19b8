//! What every card is made of: a headline, a line of the program, memory in parts.

use maud::{Markup, display, html};

use super::{percent, verdict, whole};
use crate::breakdown::Breakdown;

pub(super) fn headline(text: &str) -> Markup {
    html! { p.headline { (verdict::headline(text)) } }
}

/// The line of the program, and what it says.
pub(super) fn place(place: &str, code: Option<&str>) -> Markup {
    let code = code.map(str::trim).filter(|code| !code.is_empty());
    html! { div.where { code { (place) } @if let Some(code) = code { pre { (code) } } } }
}

/// The parts as one bar and as a list.
pub(super) fn memory(all: &Breakdown) -> Markup {
    let (shown, total) = all.bar();
    html! {
        p.label { (all.heading) }
        div.bar data-total=(total.0) role="img" aria-label={ "Memory, " (display(total)) " in all" } {
            @for part in shown {
                span class=(part.style) style={ "width:" (percent(part.bytes, total)) } data-bytes=(part.bytes.0)
                    title={ (part.what) ": " (display(part.bytes)) } {}
            }
        }
        ul.keys {
            @for part in &all.parts {
                li { span class={ "key " (part.style) } {} b { (whole(part.bytes)) } " " (part.what) }
            }
            li.sum { "= " b { (whole(all.total)) } " " (all.source) }
        }
    }
}
