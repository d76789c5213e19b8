//! The largest value of a script's own flag that fits.

use std::ffi::OsString;

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
/// Values that are apart by less than one part in so many are near to each other.
const NEAR: u64 = 8;

/// What is known before a search, and how far it goes.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// What would be needed at 0, by a line through other runs.
    pub at_zero: Option<Bytes>,
    /// Values that were run.
    pub runs: Vec<(u64, Need)>,
    /// How many more may be run; `None`: as many as it takes.
    pub most: Option<usize>,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The largest value that fits; `None`: none that was run does.
    pub largest: Option<u64>,
    /// Whether it ended before the next value was known not to fit.
    pub is_open: bool,
    /// Every value that was run, those known before first.
    pub runs: Vec<(u64, Need)>,
}

/// Searches from the value `start` on: by doubling or halving until the answer lies between two values, then between
/// them, where the straight line through the last two trials says, else in the middle. `room` is what may be needed.
pub fn largest<E>(
    start: u64,
    room: Bytes,
    known: &Known,
    mut trial: impl FnMut(u64) -> Result<Need, E>,
) -> Result<Found, E> {
    let mut found = Found { runs: known.runs.clone(), ..Found::default() };
    let most = known.most.map_or(usize::MAX, |more| known.runs.len() + more);
    loop {
        let of = |fits: bool| found.runs.iter().filter(move |run| run.1.fits == fits).map(|run| run.0);
        let low = of(true).max().unwrap_or(0);
        let high = of(false).filter(|value| *value > low).min().unwrap_or(u64::MAX);
        found.largest = (low > 0).then_some(low);
        if low + 1 >= high {
            return Ok(found);
        }
        if low >= MOST || found.runs.len() >= most {
            found.is_open = true;
            return Ok(found);
        }
        let next =
            if found.runs.is_empty() { start.max(1) } else { next(&found.runs, known, room, low, high) };
        let result = trial(next)?;
        found.runs.push((next, result));
    }
}

/// The value to run next: above `low`, which fits, and below `high`, which does not.
fn next(runs: &[(u64, Need)], known: &Known, room: Bytes, low: u64, high: u64) -> u64 {
    let least = low + 1;
    let most = if high == u64::MAX { low.saturating_mul(8).clamp(1, MOST) } else { high - 1 };
    let middle = low + high.saturating_sub(low) / 2;
    let anchor = known.at_zero.map(|bytes| (0, bytes));
    let mut points: Vec<(u64, Bytes)> =
        anchor.into_iter().chain(runs.iter().map(|run| (run.0, run.1.needs))).collect();
    // Two that are next to each other tell little of the slope: what was rounded weighs too much.
    if let (Some(anchor), [.., one, other]) = (anchor, points.as_slice())
        && one.0.abs_diff(other.0) * NEAR < other.0
    {
        points = vec![anchor, *other];
    }
    // A short search has no trials to spare: it takes the value that the line says, and then the one above it.
    let is_short = known.most.is_some();
    // Once in three trials the middle, so that a line that is not straight cannot make it crawl.
    if !is_short && runs.len().is_multiple_of(3) && high != u64::MAX && low > 0 {
        return middle.clamp(least, most.max(least));
    }
    // What the line says is dismissed where a trial has shown it to be wrong: a job may complete with less than it would
    // hold.
    let value = match guess(&points, room, if is_short { 0 } else { runs.len() }) {
        Some(value) if value >= least => value,
        Some(value) if value == low && is_short => least,
        _ if high != u64::MAX => middle,
        _ if points.len() < 2 => low.saturating_mul(2),
        _ => low + (low / 4).max(1),
    };
    value.clamp(least, most.max(least))
}

/// The value at which the line through the last two trials meets the room there is, at least 1; the one above it every
/// second time, since both have to be tried.
fn guess(points: &[(u64, Bytes)], room: Bytes, tried: usize) -> Option<u64> {
    let [.., (x1, y1), (x2, y2)] = *points else { return None };
    if x1 == x2 || y1 == y2 {
        return None;
    }
    let slope = (y2.0 as f64 - y1.0 as f64) / (x2 as f64 - x1 as f64);
    if slope <= 0.0 {
        return None;
    }
    let meets = (x2 as f64 + (room.0 as f64 - y2.0 as f64) / slope).max(1.0);
    Some((meets.floor() as u64).saturating_add(u64::from(tried.is_multiple_of(2) && tried > 2)))
}

/// What would be needed at 0, by the line through the smallest and the largest value that were run.
pub fn at_zero(runs: &[(u64, Need)]) -> Option<Bytes> {
    let (x1, y1) = runs.iter().min_by_key(|run| run.0).map(|run| (run.0, run.1.needs))?;
    let (x2, y2) = runs.iter().max_by_key(|run| run.0).map(|run| (run.0, run.1.needs))?;
    let slope = (y2.0 as f64 - y1.0 as f64) / (x2.checked_sub(x1).filter(|apart| *apart > 0)? as f64);
    Some(Bytes((y1.0 as f64 - slope * x1 as f64).max(0.0) as u64))
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

    fn search(start: u64, room: u64, known: &Known, needs: impl Fn(u64) -> u64) -> Found {
        let trial = |value| -> Result<Need, ()> {
            Ok(Need { fits: needs(value) <= room, needs: Bytes(needs(value)) })
        };
        largest(start, Bytes(room), known, trial).expect("trials do not fail")
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
                    let found = search(start, room, &Known::default(), needs);
                    let expected = (1..=100_000_u64).take_while(|n| needs(*n) <= room).last();
                    assert_eq!(found.largest, expected, "from {start}, room {room}: {:?}", found.runs);
                    assert!(found.runs.len() < 40, "{:?}", found.runs);
                }
            }
        }
    }

    #[test]
    fn a_straight_line_takes_few_trials() {
        let found = search(64, 15_000, &Known::default(), |n| 1500 + 200 * n);
        assert_eq!((found.largest, found.runs.len() <= 5), (Some(67), true), "{:?}", found.runs);
    }

    #[test]
    fn a_search_of_few_runs_says_how_far_it_came() {
        // A run at 64 that does not fit, and the intercept of another line that is about right.
        let needs = |n: u64| 1500 + 100 * n;
        let known = |most| Known {
            at_zero: Some(Bytes(1400)),
            runs: vec![(64, Need { fits: false, needs: Bytes(needs(64)) })],
            most: Some(most),
        };
        let found = |room, most| {
            let found = search(64, room, &known(most), needs);
            let run: Vec<u64> = found.runs.iter().skip(1).map(|run| run.0).collect();
            (found.largest, found.is_open, run)
        };
        assert_eq!(found(5000, 4), (Some(35), false, vec![35, 36]));
        assert_eq!(found(5000, 1), (Some(35), true, vec![35]));
        assert_eq!(found(1550, 4), (None, false, vec![1]));
        assert_eq!(found(5000, 0), (None, true, vec![]));
        assert_eq!(at_zero(&found_runs(&[2, 5], needs)), Some(Bytes(1500)));
        assert_eq!(at_zero(&found_runs(&[2], needs)), None);
    }

    fn found_runs(values: &[u64], needs: impl Fn(u64) -> u64) -> Vec<(u64, Need)> {
        values.iter().map(|value| (*value, Need { fits: true, needs: Bytes(needs(*value)) })).collect()
    }

    #[test]
    fn a_line_that_asks_for_more_than_is_needed_does_not_make_it_crawl() {
        // It holds as much as it likes, and completes with three quarters of it.
        let trial = |value: u64| -> Result<Need, ()> {
            Ok(Need { fits: 75 * value + 100 <= 15_000, needs: Bytes(100 * value + 100) })
        };
        let found = largest(64, Bytes(15_000), &Known::default(), trial).expect("trials do not fail");
        assert_eq!((found.largest, found.runs.len() <= 12), (Some(198), true), "{:?}", found.runs);
    }

    #[test]
    fn what_never_runs_out_ends_the_search() {
        let found = search(8, u64::MAX, &Known::default(), |n| n);
        assert!(found.is_open && found.largest >= Some(MOST));
    }

    #[test]
    fn a_trial_that_fails_ends_the_search() {
        assert_eq!(largest(4, Bytes(1), &Known::default(), Err::<Need, u64>), Err(4));
    }
}
