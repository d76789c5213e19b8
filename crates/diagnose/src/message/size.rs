//! Printed amounts of memory: `1.63 GiB`, `98.000244MB`, `926. GiB`, `1,073,741,824 bytes`, `374391296`.

use oomph_trace::Bytes;

/// The amount a text starts with, white space and an opening bracket aside, and the text after it. A number without
/// a unit is none: what it counts is not said (a message cut off behind the number, for example).
pub(super) fn leading(text: &str) -> Option<(Bytes, &str)> {
    amount(text, "")
}

/// As [`leading`], with a unit that stands for one that is not printed; a whole number may count `bytes`.
pub(super) fn amount<'a>(text: &'a str, implied: &str) -> Option<(Bytes, &'a str)> {
    let (number, rest) = Number::leading(text)?;
    let (shift, rest) = match (unit(rest), implied) {
        (Some(found), _) => found,
        (None, "bytes") if number.decimals > 0 => return None,
        (None, implied) => (unit(implied)?.0, rest),
    };
    Some((number.scaled(shift), rest))
}

/// The text behind the number that it starts with, and behind its unit if it has one.
pub(super) fn behind_number(text: &str) -> Option<&str> {
    let (_, rest) = Number::leading(text)?;
    Some(unit(rest).map_or(rest, |(_, rest)| rest))
}

/// The whole number a text starts with, and the text after it.
pub(super) fn leading_number(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// What so many elements of a type take, by the name that a text starts with.
pub(super) fn of_elements(elements: u64, name: &str) -> Option<Bytes> {
    let name = name.trim_start();
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let width = match name[..end].to_ascii_lowercase().as_str() {
        "complex128" | "clongdouble" | "longdouble" | "float128" => 16,
        "double" | "float64" | "int64" | "uint64" | "complex64" | "object" | "datetime64" | "timedelta64" => {
            8
        }
        "float" | "float32" | "int32" | "uint32" | "int" => 4,
        "half" | "float16" | "bfloat16" | "int16" | "uint16" => 2,
        "bool" | "int8" | "uint8" | "qint8" | "quint8" => 1,
        _ => return None,
    };
    elements.checked_mul(width).map(Bytes)
}

/// The product of a printed shape: `64, 2016, 9, 9`.
pub(super) fn product(shape: &str) -> Option<u64> {
    let dimensions = shape.split(',').map(str::trim).filter(|dimension| !dimension.is_empty());
    dimensions.map(|dimension| dimension.parse::<u64>().ok()).try_fold(1u64, |all, one| all.checked_mul(one?))
}

/// A decimal number, kept exact: `digits` / 10^`decimals`.
struct Number {
    digits: u128,
    decimals: u32,
}

impl Number {
    fn leading(text: &str) -> Option<(Number, &str)> {
        let text =
            text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '(' | '~' | '`' | '\''));
        let (mut digits, mut decimals, mut seen, mut point) = (0u128, 0, false, false);
        let mut end = text.len();
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    seen = true;
                    // 10^24 holds every amount with its decimals; digits beyond that say nothing.
                    if digits < 10u128.pow(24) {
                        digits = digits * 10 + u128::from(byte - b'0');
                        decimals += u32::from(point);
                    } else if !point {
                        digits = u128::MAX >> 64;
                    }
                }
                b',' if seen && !point && is_group(&text.as_bytes()[at + 1..]) => {}
                b'.' if seen && !point => point = true,
                _ => {
                    end = at;
                    break;
                }
            }
        }
        seen.then_some((Number { digits, decimals }, &text[end..]))
    }

    fn scaled(&self, shift: u32) -> Bytes {
        let whole = 10u128.pow(self.decimals);
        let scaled = (self.digits.saturating_mul(1 << shift).saturating_add(whole / 2)) / whole;
        Bytes(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

/// Whether three digits follow and no fourth: the rest of `1,073`.
fn is_group(after: &[u8]) -> bool {
    after.len() >= 3
        && after[..3].iter().all(u8::is_ascii_digit)
        && !after.get(3).is_some_and(u8::is_ascii_digit)
}

/// The power of two a unit stands for. As everywhere in this field, `GB` and `G` mean GiB.
fn unit(text: &str) -> Option<(u32, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let shift = match text[..end].to_ascii_lowercase().as_str() {
        "b" | "byte" | "bytes" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        "p" | "pb" | "pib" => 50,
        "e" | "eb" | "eib" => 60,
        _ => return None,
    };
    Some((shift, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_amounts_are_read_to_the_byte() {
        for (text, bytes) in [
            ("1.63 GiB (GPU", 1_750_199_173),
            (" 98.000244MB memory", 102_760_704),
            ("926. GiB for", 926 << 30),
            ("1,073,741,824 bytes", 1 << 30),
            ("0 bytes", 0),
            ("1018.00 KiB", 1_042_432),
            ("0.000000B.", 0),
            ("17179869184.00 GiB", u64::MAX),
            ("9.08G of", 9_749_575_762),
            ("(12.5\nMiB)", 13_107_200),
            ("2 PiB", 2 << 50),
        ] {
            assert_eq!(leading(text).map(|(bytes, _)| bytes), Some(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn a_number_without_unit_is_bytes_only_where_that_is_the_format() {
        assert_eq!(leading("95.00"), None);
        assert_eq!(leading("95 of them"), None);
        assert_eq!(amount("374391296\n", "bytes").map(|(bytes, _)| bytes), Some(Bytes(374_391_296)));
        assert_eq!(amount("95.00", "bytes"), None);
        assert_eq!(leading("GiB"), None);
        assert!(leading(&"9".repeat(100_000)).is_none());
        assert_eq!(
            leading(&format!("{} B", "9".repeat(1000))).map(|(bytes, _)| bytes),
            Some(Bytes(u64::MAX))
        );
    }
}
