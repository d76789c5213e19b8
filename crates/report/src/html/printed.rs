//! The last step of every page: what no page may hold is replaced.

use maud::Markup;

/// The markup as text. Controls, and what turns the direction of the text around it, become U+FFFD: names out of foreign
/// files hold anything. Line ends stay.
pub(super) fn printed(markup: &Markup) -> String {
    let turns = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = |c: char| if c != '\n' && (c.is_control() || turns(c)) { '\u{fffd}' } else { c };
    markup.0.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    #[test]
    fn nothing_foreign_is_markup() {
        let hostile = "<script>\"'&\u{0}\u{202e}\n</script>é";
        let expected = "&lt;script&gt;&quot;'&amp;\u{fffd}\u{fffd}\n&lt;/script&gt;é";
        let markup = html! { p title=(hostile) { (hostile) } };
        assert_eq!(printed(&markup), format!("<p title=\"{expected}\">{expected}</p>"));
    }
}
