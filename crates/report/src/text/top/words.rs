//! Amounts and times in few characters.

use oomph_trace::Bytes;

use crate::text::report;

/// An amount in at most six characters: `10.2G`, `140.4G`, `512M`.
pub(super) fn short(bytes: Bytes) -> String {
    let in_units_of = |shift: u32| bytes.0 as f64 / (1_u64 << shift) as f64;
    match bytes.0 {
        0 => "0".to_owned(),
        n if n < 1000 << 10 => format!("{:.0}K", in_units_of(10)),
        n if n < 1000 << 20 => format!("{:.0}M", in_units_of(20)),
        n if n < 1000 << 30 => format!("{:.1}G", in_units_of(30)),
        _ => format!("{:.1}T", in_units_of(40)),
    }
}

/// A time in at most four characters: `45s`, `12m`, `3h`, `20d`.
pub(super) fn short_time(seconds: u64) -> String {
    match seconds {
        s if s < 100 => format!("{s}s"),
        s if s < 100 * 60 => format!("{}m", s / 60),
        s if s < 100 * 3600 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

/// How often something happens, in at most eight characters: `3.2/s`, `4.0/min`.
pub(super) fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate >= 100.0 => format!("{rate:.0}/s"),
        rate if rate >= 1.0 => format!("{rate:.1}/s"),
        rate if rate * 60.0 >= 1.0 => format!("{:.1}/min", rate * 60.0),
        rate => format!("{:.1}/h", rate * 3600.0),
    }
}

/// A time that is only roughly known.
pub(super) fn about(seconds: u64) -> String {
    match seconds {
        s if s < 60 => "less than a minute".to_owned(),
        s if s < 90 => "about 1 minute".to_owned(),
        s if s < 100 * 60 => format!("about {} minutes", (s + 30) / 60),
        s => format!("about {} hours", (s + 1800) / 3600),
    }
}

/// The first characters of a text, with a sign where there are more that every terminal shows, if it has to be `ascii`.
pub(super) fn cut(text: &str, room: usize, ascii: bool) -> String {
    report::cut(text, room, if ascii { '>' } else { '…' })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_times_and_rates_stay_short() {
        let amounts = [0, 512, 3 << 20, 999 << 20, 1000 << 20, 10_951_518_618, 999 << 30, 3 << 40];
        let shown = amounts.map(|n| short(Bytes(n)));
        assert_eq!(shown, ["0", "0K", "3M", "999M", "1.0G", "10.2G", "999.0G", "3.0T"]);
        assert_eq!(
            [9, 99, 100, 5_999, 6_000, 400_000].map(short_time),
            ["9s", "99s", "1m", "99m", "1h", "4d"]
        );
        assert_eq!([250.0, 3.24, 0.5, 0.01].map(rate), ["250/s", "3.2/s", "30.0/min", "36.0/h"]);
        assert_eq!(
            [10, 70, 2_400, 5_999, 7_000].map(about),
            [
                "less than a minute",
                "about 1 minute",
                "about 40 minutes",
                "about 100 minutes",
                "about 2 hours"
            ]
        );
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(
            [cut("abc", 3, false), cut("abcd", 3, false), cut("abcd", 3, true)],
            ["abc", "ab…", "ab>"]
        );
    }
}
