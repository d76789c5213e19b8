//! Sentences of a report in a page.

use maud::{Markup, html};

/// A sentence, in which what stands between backticks is code.
pub(super) fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // One that is left over begins nothing.
    let pairs = if parts.len() % 2 == 1 { parts.len() } else { 0 };
    html! {
        @for (number, part) in parts[..pairs].iter().enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
        @if pairs == 0 { (text) }
    }
}
