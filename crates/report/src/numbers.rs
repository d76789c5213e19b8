//! Numbers in sentences.

use std::fmt::Display;

/// Groups the digits of a count: 35,846.
pub(crate) fn count(n: impl Display) -> String {
    let digits = n.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A count and its noun: 1 step, 2 steps.
pub(crate) fn counted(n: impl Display, noun: &str) -> String {
    let n = count(n);
    let plural = if n == "1" { "" } else { "s" };
    format!("{n} {noun}{plural}")
}

/// A value, or what stands in its place where it is unknown.
pub(crate) fn known(value: Option<impl Display>, unknown: &str) -> String {
    value.map_or_else(|| unknown.to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([1, 2].map(|n| counted(n, "step")), ["1 step", "2 steps"]);
    }
}
