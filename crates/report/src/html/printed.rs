//! The last step of every page: what no page may hold is replaced.

use maud::Markup;

use crate::printable;

/// The markup as text.
pub(super) fn printed(markup: &Markup) -> String {
    printable::shown(&markup.0, &[]).into_owned()
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
