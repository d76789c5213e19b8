//! The largest value of a script's own flag that fits.

use std::ffi::OsString;

use oomph_diagnose::results::plan::PlannedVary;
use oomph_trace::Bytes;

/// The value of a flag on a command line: `--batch 64` or `--batch=64`; the last counts.
pub fn value_of(args: &[OsString], flag: &str) -> Option<u64> {
    position(args, flag).and_then(|(_, _, value)| value)
}

/// The command line with the flag set to a value.
pub fn with_value(args: &[OsString], flag: &str, value: u64) -> Vec<OsString> {
    let mut args = args.to_vec();
    match position(&args, flag) {
        Some((at, true, _)) => args[at] = format!("{flag}={value}").into(),
        Some((at, false, _)) if at + 1 < args.len() => args[at + 1] = value.to_string().into(),
        Some((_, false, _)) => args.push(value.to_string().into()),
        None => args.extend([flag.into(), value.to_string().into()]),
    }
    args
}

/// Where the flag is, whether its value is in the same word, and the value.
fn position(args: &[OsString], flag: &str) -> Option<(usize, bool, Option<u64>)> {
    let joined = format!("{flag}=");
    let mut found = args.iter().enumerate().filter_map(|(at, word)| {
        let word = word.to_string_lossy();
        if let Some(value) = word.strip_prefix(&joined) {
            return Some((at, true, value.parse().ok()));
        }
        let next = || args.get(at + 1).and_then(|next| next.to_string_lossy().parse().ok());
        (word == flag).then(|| (at, false, next()))
    });
    found.next_back()
}

/// What one value leads to: whether it fits, and the memory it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Whether it fits.
    pub fits: bool,
    /// What it needs; more with a greater value, about in proportion.
    pub needs: Bytes,
}

/// Values beyond this are not tried.
const MOST: u64 = 1 << 20;

/// Searches from the value `asked` on: by doubling or halving until the answer lies between two values, then between
/// them, where the straight line through the last two trials says, else in the middle. `room` is what may be needed.
pub fn largest<E>(
    flag: &str,
    asked: Option<u64>,
    room: Bytes,
    mut trial: impl FnMut(u64) -> Result<Need, E>,
) -> Result<PlannedVary, E> {
    let flag = flag.to_owned();
    let mut found =
        PlannedVary { flag, asked, largest: None, peak_reserved: None, is_open: false, tried: Vec::new() };
    let mut points: Vec<(u64, Bytes)> = Vec::new();
    let (mut low, mut high) = (0_u64, u64::MAX);
    let mut next = asked.unwrap_or(1).max(1);
    while low + 1 < high {
        let result = trial(next)?;
        found.tried.push(next);
        points.push((next, result.needs));
        if result.fits {
            low = next;
            found.largest = Some(next);
            found.peak_reserved = Some(result.needs);
        } else {
            high = next;
        }
        if low >= MOST {
            found.is_open = true;
            break;
        }
        let least = low + 1;
        let most = if high == u64::MAX { low.saturating_mul(8).clamp(1, MOST) } else { high - 1 };
        if least > most {
            break;
        }
        // What the line says is dismissed where a trial has shown it to be wrong: a job may complete with less than it
        // would hold.
        next = match guess(&points, room, found.tried.len()) {
            Some(value) if value >= least => value,
            _ if high != u64::MAX => low + (high - low) / 2,
            _ if points.len() < 2 => low.saturating_mul(2),
            _ => low + (low / 4).max(1),
        };
        // Once in three trials the middle, so that a line that is not straight cannot make it crawl.
        if found.tried.len().is_multiple_of(3) && high != u64::MAX && low > 0 {
            next = low + (high - low) / 2;
        }
        next = next.clamp(least, most.max(least));
    }
    Ok(found)
}

/// The value at which the line through the last two trials meets the room there is; the one above it every second time,
/// since both have to be tried.
fn guess(points: &[(u64, Bytes)], room: Bytes, tried: usize) -> Option<u64> {
    let [.., (x1, y1), (x2, y2)] = *points else { return None };
    if x1 == x2 || y1 == y2 {
        return None;
    }
    let slope = (y2.0 as f64 - y1.0 as f64) / (x2 as f64 - x1 as f64);
    if slope <= 0.0 {
        return None;
    }
    let meets = x2 as f64 + (room.0 as f64 - y2.0 as f64) / slope;
    (meets >= 1.0)
        .then(|| (meets.floor() as u64).saturating_add(u64::from(tried.is_multiple_of(2) && tried > 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_flag_is_found_and_set() {
        let check = |args: &str, had: Option<u64>, expected: &str| {
            assert_eq!(value_of(&words(args), "--batch"), had, "{args}");
            assert_eq!(with_value(&words(args), "--batch", 7), words(expected), "{args}");
        };
        check("t.py --batch 64 --lr 1", Some(64), "t.py --batch 7 --lr 1");
        check("t.py --batch=64", Some(64), "t.py --batch=7");
        check("t.py", None, "t.py --batch 7");
        check("t.py --batch", None, "t.py --batch 7");
        check("t.py --batch 1 --batch 2", Some(2), "t.py --batch 1 --batch 7");
        check("t.py --batch many", None, "t.py --batch 7");
    }

    fn search(start: u64, room: u64, needs: impl Fn(u64) -> u64) -> PlannedVary {
        let trial = |value| -> Result<Need, ()> {
            Ok(Need { fits: needs(value) <= room, needs: Bytes(needs(value)) })
        };
        largest("--batch", Some(start), Bytes(room), trial).expect("trials do not fail")
    }

    #[test]
    fn the_largest_value_is_found_whatever_the_start() {
        for start in [1, 2, 5, 64, 1000] {
            for room in [9, 10, 11, 99, 100, 1234, 50_000] {
                for needs in [
                    |n: u64| 10 * n,
                    |n: u64| 3 * n + 4,
                    |n: u64| n * n / 4 + n,
                    |n: u64| n.next_power_of_two(),
                ] {
                    let found = search(start, room, needs);
                    let expected = (1..=100_000_u64).take_while(|n| needs(*n) <= room).last();
                    assert_eq!(found.largest, expected, "from {start}, room {room}: {:?}", found.tried);
                    assert!(found.tried.len() < 40, "{:?}", found.tried);
                }
            }
        }
    }

    #[test]
    fn a_straight_line_takes_few_trials() {
        let found = search(64, 15_000, |n| 1500 + 200 * n);
        assert_eq!((found.largest, found.tried.len() <= 5), (Some(67), true), "{:?}", found.tried);
    }

    #[test]
    fn a_line_that_asks_for_more_than_is_needed_does_not_make_it_crawl() {
        // It holds as much as it likes, and completes with three quarters of it.
        let trial = |value: u64| -> Result<Need, ()> {
            Ok(Need { fits: 75 * value + 100 <= 15_000, needs: Bytes(100 * value + 100) })
        };
        let found = largest("--batch", Some(64), Bytes(15_000), trial).expect("trials do not fail");
        assert_eq!((found.largest, found.tried.len() <= 12), (Some(198), true), "{:?}", found.tried);
    }

    #[test]
    fn what_never_runs_out_ends_the_search() {
        let found = search(8, u64::MAX, |n| n);
        assert!(found.is_open && found.largest >= Some(MOST));
    }

    #[test]
    fn a_trial_that_fails_ends_the_search() {
        assert_eq!(largest("--batch", Some(4), Bytes(1), Err::<Need, u64>), Err(4));
    }
}
