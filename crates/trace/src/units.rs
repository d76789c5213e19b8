//! Units that live in types: an amount of memory, an address, a place in a trace.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

/// An amount of memory in bytes.
///
/// `Display` prints IEC units with two decimals (`5.84 GiB`), for people; programs read the number.
/// Sums saturate: sizes come from files, and any sum near 2^64 bytes is absurd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` KiB.
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n << 10)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n << 20)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Bytes {
        Bytes(n << 30)
    }

    /// The smallest multiple of `unit` that is not below `self`; saturates instead of overflowing.
    pub const fn round_up(self, unit: Bytes) -> Bytes {
        match self.0.checked_next_multiple_of(unit.0) {
            Some(n) => Bytes(n),
            None => Bytes(u64::MAX / unit.0 * unit.0),
        }
    }

    /// `self - other`, or nothing where that would be negative.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// This amount as a fraction of `whole`; 0 where the whole is empty.
    pub fn share_of(self, whole: Bytes) -> f64 {
        if whole.0 == 0 { 0.0 } else { self.0 as f64 / whole.0 as f64 }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            n if n < 1 << 10 => format!("{n} B"),
            n if n < 1 << 20 => format!("{:.2} KiB", n as f64 / f64::from(1 << 10)),
            n if n < 1 << 30 => format!("{:.2} MiB", n as f64 / f64::from(1 << 20)),
            n => format!("{:.2} GiB", n as f64 / f64::from(1 << 30)),
        };
        f.pad(&text)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[track_caller]
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl SubAssign for Bytes {
    #[track_caller]
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(amounts: I) -> Bytes {
        amounts.fold(Bytes::ZERO, Add::add)
    }
}

/// A text that is not an amount of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a size: write a number and a unit, such as 12GiB, 512MiB or 1073741824")]
pub struct ParseBytesError {
    text: String,
}

impl FromStr for Bytes {
    type Err = ParseBytesError;

    /// Reads `15GiB`, `15 GB`, `1.5g`, `512M` or a plain number of bytes. `GB` and `G` mean GiB, as in PyTorch's own
    /// texts.
    fn from_str(text: &str) -> Result<Bytes, ParseBytesError> {
        let error = || ParseBytesError { text: text.to_owned() };
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(error()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(1 << shift).map(Bytes).ok_or_else(error);
        }
        let value: f64 = number.parse().map_err(|_| error())?;
        let bytes = (value * (1u64 << shift) as f64).round();
        // `as` would saturate, so 2^64 and more is refused.
        if bytes.is_finite() && bytes < 18_446_744_073_709_551_616.0 {
            Ok(Bytes(bytes as u64))
        } else {
            Err(error())
        }
    }
}

/// An address in device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(pub u64);

impl Addr {
    /// The address `size` further up.
    pub const fn offset(self, size: Bytes) -> Addr {
        Addr(self.0.wrapping_add(size.0))
    }

    /// How far `self` lies above `base`; `None` where it lies below.
    pub const fn distance_from(self, base: Addr) -> Option<Bytes> {
        match self.0.checked_sub(base.0) {
            Some(n) => Some(Bytes(n)),
            None => None,
        }
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A place in a trace: the index of an event. It is the only time axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventIdx(pub u32);

impl EventIdx {
    /// As an index into the events.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for EventIdx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_as_people_write_them() {
        let cases = [
            ("15GiB", Some(Bytes::gib(15))),
            ("1.5g", Some(Bytes::mib(1536))),
            (" 512 MB ", Some(Bytes::mib(512))),
            ("1073741824", Some(Bytes::gib(1))),
            ("0", Some(Bytes::ZERO)),
            ("99999999999999999999", None),
            ("99999999 TiB", None),
            ("1.2.3G", None),
            ("12 parsecs", None),
            ("", None),
            ("-1", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Bytes>().ok(), expected, "{text}");
        }
    }

    #[test]
    fn sizes_print_in_iec_units() {
        let shown: Vec<String> =
            [0, 1023, 1024, 6_272_581_632, 1 << 20].map(|n| Bytes(n).to_string()).to_vec();
        assert_eq!(shown, ["0 B", "1023 B", "1.00 KiB", "5.84 GiB", "1.00 MiB"]);
    }
}
