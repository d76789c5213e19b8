//! Foreign text made fit to be shown: names out of files, command lines and logs hold anything. Every format passes
//! through here last.

use std::borrow::Cow;

/// What stands for a character that is not shown.
const REPLACED: char = '\u{fffd}';

/// Whether a character does nothing but stand there: no control, and nothing that turns the direction of what is around it.
/// Line ends are shown.
fn is_shown(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c == '\n' || !(c.is_control() || turns)
}

/// The text as it is shown. Of all escapes only `own` stay: the colours of a report in a terminal.
pub(crate) fn shown<'a>(text: &'a str, own: &[&str]) -> Cow<'a, str> {
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let escape = own.iter().find(|escape| rest.starts_with(**escape));
        let taken = escape.map_or(c.len_utf8(), |escape| escape.len());
        match escape {
            Some(escape) => out.push_str(escape),
            None => out.push(if is_shown(c) { c } else { REPLACED }),
        }
        rest = &rest[taken..];
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_colours_reach_a_terminal() {
        let text = "\u{1b}[31mbad\u{1b}[0m \u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m \u{202e}txt.exe\ttab é\n";
        let with = "\u{1b}[31mbad\u{1b}[0m \u{fffd}[2J\u{fffd}]0;title\u{fffd}\u{fffd}31m \u{fffd}txt.exe\u{fffd}tab é\n";
        assert_eq!(shown(text, &["\u{1b}[31m", "\u{1b}[0m"]), with);
        let without = with.replace('\u{1b}', "\u{fffd}");
        assert_eq!(shown(text, &[]), without);
    }
}
