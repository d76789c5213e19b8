//! Text of a foreign file inside a page.

use std::fmt;

/// Prints `0` as text of HTML, in an element or between double quotes. What a page cannot hold becomes U+FFFD.
pub(super) struct Escaped<T>(pub(super) T);

impl<T: fmt::Display> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Write::write_fmt(&mut Escape(f), format_args!("{}", self.0))
    }
}

struct Escape<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escape<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.write_str("&amp;")?,
                '<' => self.0.write_str("&lt;")?,
                '>' => self.0.write_str("&gt;")?,
                '"' => self.0.write_str("&quot;")?,
                '\'' => self.0.write_str("&#39;")?,
                '\n' => self.0.write_str("&#10;")?,
                // Controls, and what turns the direction of the text around it.
                c if c.is_control()
                    || ('\u{202a}'..='\u{202e}').contains(&c)
                    || ('\u{2066}'..='\u{2069}').contains(&c) =>
                {
                    self.0.write_str("\u{fffd}")?;
                }
                c => fmt::Write::write_char(self.0, c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_foreign_is_markup() {
        let hostile = "<script>\"'&\u{0}\u{202e}\n</script>é";
        let expected = "&lt;script&gt;&quot;&#39;&amp;\u{fffd}\u{fffd}&#10;&lt;/script&gt;é";
        assert_eq!(Escaped(hostile).to_string(), expected);
    }
}
