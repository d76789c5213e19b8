//! Whether a job that runs uses more and more memory, and when that will reach its limit.
//!
//! Judged is what is in use when a step has ended, always the same moment of a step, as the recorder notes it every two
//! seconds. The rule, and why each part of it is there, is in docs/decisions/0011-when-a-job-will-run-out.md.

use oomph_trace::Bytes;
use oomph_trace::sidecar::MemorySample;
use schemars::JsonSchema;
use serde::Serialize;

/// The first steps make what stays: optimizer state, workspaces, caches.
const WARM_UP: u64 = 8;
/// The time is cut into so many windows of the same length; of each the least counts, and what comes and goes does not.
const WINDOWS: usize = 6;
/// A window has at least so many samples.
const IN_WINDOW: usize = 2;
/// What was seen for less than this is not judged.
const SHORTEST_US: u64 = 60_000_000;
/// Less than this is no growth.
const LEAST: f64 = (1 << 20) as f64;
/// From one window to the next memory may fall by this share of all growth.
const FALL: f64 = 0.05;
/// In the second half of the time it grows at least this much as fast as in all of it; else it levels off.
const STEADY: f64 = 0.6;

/// How fast a job's memory grows, and how long that can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LiveGrowth {
    /// By how much more is in use, a minute.
    pub per_minute: Bytes,
    /// How long this has been seen, in seconds.
    pub seen_s: u64,
    /// In how many seconds the most that a step uses reaches the limit at this rate; `None` where no limit is known.
    pub left_s: Option<u64>,
}

/// The growth of a job from what was noted of one device, oldest first; `None` where it does not grow, or where that
/// cannot be told yet. `limit` is what PyTorch can come to hold.
pub fn growth(history: &[MemorySample], limit: Option<Bytes>) -> Option<LiveGrowth> {
    let warm = history.iter().position(|sample| sample.step >= WARM_UP)?;
    let seen = &history[warm..];
    let (first, last) = (seen.first()?, seen.last()?);
    let span_us = last.time_us.checked_sub(first.time_us).filter(|span| *span >= SHORTEST_US)?;
    let floors = floors(seen, first.time_us, span_us)?;
    let rise = floors[WINDOWS - 1].1 - floors[0].1;
    let falls = floors.windows(2).any(|pair| pair[1].1 < pair[0].1 - FALL * rise);
    let rises_now = floors[WINDOWS - 1].1 > floors[WINDOWS - 2].1;
    if rise < LEAST || falls || !rises_now {
        return None;
    }
    let (whole, recent) = (slope(&floors), slope(&floors[WINDOWS / 2..]));
    if recent < STEADY * whole {
        return None;
    }
    // What stays below an earlier peak has been survived before: a buffer that fills and is emptied.
    let peak_rise = last.peak_allocated.saturating_sub(first.peak_allocated);
    if (peak_rise.0 as f64) < rise / 2.0 {
        return None;
    }
    let rate = whole.min(recent);
    let left = limit.map(|limit| limit.saturating_sub(last.peak_allocated).0 as f64 / rate);
    Some(LiveGrowth {
        per_minute: Bytes((rate * 60e6) as u64),
        seen_s: span_us / 1_000_000,
        left_s: left.map(|us| (us / 1e6) as u64),
    })
}

/// The least of each window, and when it was; `None` where a window has too few samples.
fn floors(seen: &[MemorySample], from_us: u64, span_us: u64) -> Option<[(f64, f64); WINDOWS]> {
    let mut found = [(0.0, f64::INFINITY); WINDOWS];
    let mut counts = [0_usize; WINDOWS];
    for sample in seen {
        let at_us = sample.time_us.checked_sub(from_us)?;
        let share = u128::from(at_us) * WINDOWS as u128 / (u128::from(span_us) + 1);
        let window = usize::try_from(share).ok().filter(|window| *window < WINDOWS)?;
        let bytes = sample.allocated.0 as f64;
        counts[window] += 1;
        if bytes < found[window].1 {
            found[window] = (at_us as f64, bytes);
        }
    }
    counts.iter().all(|count| *count >= IN_WINDOW).then_some(found)
}

/// The middle of the slopes between all pairs of points, in bytes a microsecond: one that lies off does not move it.
fn slope(points: &[(f64, f64)]) -> f64 {
    let mut slopes = Vec::new();
    for (index, early) in points.iter().enumerate() {
        for late in points[index + 1..].iter().filter(|late| late.0 > early.0) {
            slopes.push((late.1 - early.1) / (late.0 - early.0));
        }
    }
    slopes.sort_by(f64::total_cmp);
    let middle = slopes.len() / 2;
    match slopes.len() {
        0 => 0.0,
        length if length % 2 == 1 => slopes[middle],
        _ => f64::midpoint(slopes[middle - 1], slopes[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample every two seconds for so many seconds: what is in use, in MiB, at a time in seconds, and how much more
    /// than that a step needs at its peak.
    fn every_two_seconds(seconds: u64, step_peak: f64, in_use: impl Fn(f64) -> f64) -> Vec<MemorySample> {
        let mib = |n: f64| Bytes((n * f64::from(1 << 20)) as u64);
        let mut peak = 0.0_f64;
        let mut found = Vec::new();
        for n in 0..=seconds / 2 {
            let now = in_use(n as f64 * 2.0);
            peak = peak.max(now + step_peak);
            found.push(MemorySample {
                time_us: 1_000_000_000 + n * 2_000_000,
                step: 10 + 3 * n,
                allocated: mib(now),
                reserved: mib(peak),
                peak_allocated: mib(peak),
            });
        }
        found
    }

    /// Numbers that look like chance, from -1 to 1.
    fn noise(t: f64) -> f64 {
        let seed = (t as u64).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) as f64 / f64::from(1_u32 << 31)) * 2.0 - 1.0
    }

    const LIMIT: Option<Bytes> = Some(Bytes::gib(8));

    /// The rate and the time left are these, to a tenth: people are told "about".
    #[track_caller]
    fn grows(history: &[MemorySample], mib_per_minute: u64, seconds_left: u64) {
        let found = growth(history, LIMIT).expect("it grows");
        let near = |found: u64, expected: u64| found.abs_diff(expected) * 10 <= expected;
        assert!(near(found.per_minute.0 >> 20, mib_per_minute), "{found:?}");
        assert!(near(found.left_s.expect("a limit is known"), seconds_left), "{found:?}");
    }

    #[track_caller]
    fn is_still(history: &[MemorySample]) {
        assert_eq!(growth(history, LIMIT), None);
    }

    #[test]
    fn what_grows_evenly_is_told_with_the_time_that_is_left() {
        // 1000 MiB + 60 a minute for five minutes is 1300; a step needs 500 more; 8192 - 1800 are left.
        let series = every_two_seconds(300, 500.0, |t| 1000.0 + t);
        grows(&series, 60, 8192 - 1800);
        let found = growth(&series, LIMIT).expect("it grows");
        assert!(found.per_minute.0.abs_diff(60 << 20) < 1 << 10, "{found:?}");
        assert!(found.left_s.is_some_and(|left| left.abs_diff(8192 - 1800) <= 1), "{found:?}");
        assert_eq!(found.seen_s, 300);
        assert_eq!(growth(&series, None).map(|found| found.left_s), Some(None));
        // Past the limit nothing is left.
        assert_eq!(growth(&series, Some(Bytes::gib(1))).and_then(|found| found.left_s), Some(0));
    }

    #[test]
    fn what_grows_in_stairs_and_with_noise_is_told_too() {
        grows(&every_two_seconds(300, 500.0, |t| 1000.0 + (t / 20.0).floor() * 20.0), 60, 8192 - 1800);
        grows(&every_two_seconds(300, 500.0, |t| 1000.0 + t + 15.0 * noise(t)), 60, 8192 - 1800);
        // What a step leaves behind now and then does not hide it: of each window the least counts.
        let spikes = |t: f64| 1000.0 + t + if (t as u64).is_multiple_of(14) { 900.0 } else { 0.0 };
        let found = growth(&every_two_seconds(300, 500.0, spikes), None).expect("it grows");
        assert_eq!(found.per_minute.0 >> 20, 60);
    }

    #[test]
    fn what_stays_the_same_does_not_grow() {
        is_still(&every_two_seconds(600, 500.0, |_| 1000.0));
        is_still(&every_two_seconds(600, 500.0, |t| 1000.0 + 50.0 * noise(t)));
        is_still(&every_two_seconds(600, 500.0, |t| 1000.0 - t));
    }

    #[test]
    fn a_saw_tooth_does_not_grow_whatever_its_length() {
        for period in [6.0, 20.0, 45.0, 90.0, 130.0, 200.0, 280.0] {
            for shift in [0.0, 0.25, 0.5, 0.75] {
                let tooth = |t: f64| 1000.0 + 10.0 * ((t + shift * period) % period);
                is_still(&every_two_seconds(300, 500.0, tooth));
            }
        }
    }

    #[test]
    fn the_rise_of_a_long_tooth_is_no_growth_if_there_was_one_before_it() {
        // Only one rise is seen, but the peak is that of the tooth before.
        let mut series = every_two_seconds(300, 500.0, |t| 1000.0 + t);
        series.iter_mut().for_each(|sample| sample.peak_allocated = Bytes::gib(4));
        is_still(&series);
    }

    #[test]
    fn what_levels_off_does_not_grow() {
        for settles_in in [10.0, 30.0, 60.0, 90.0] {
            is_still(&every_two_seconds(300, 500.0, |t| 1000.0 + 900.0 * (1.0 - (-t / settles_in).exp())));
        }
        is_still(&every_two_seconds(300, 500.0, |t| 1000.0 + t.min(200.0)));
        is_still(&every_two_seconds(300, 500.0, |t| if t < 150.0 { 1000.0 } else { 2000.0 }));
    }

    #[test]
    fn warm_up_and_a_short_look_are_not_judged() {
        let mut series = every_two_seconds(300, 500.0, |t| 1000.0 + t);
        is_still(&series[..30]);
        is_still(&[]);
        series.iter_mut().for_each(|sample| sample.step = 7);
        is_still(&series);
    }

    #[test]
    fn slow_steps_are_judged_by_what_there_is_of_them() {
        let all = every_two_seconds(1200, 500.0, |t| 1000.0 + t);
        let slow: Vec<MemorySample> = all.iter().copied().step_by(30).collect();
        assert_eq!(slow.len(), 21);
        grows(&slow, 60, 8192 - 2700);
        is_still(&slow[..8]);
    }

    #[test]
    fn a_clock_that_is_set_back_and_absurd_numbers_are_no_growth() {
        let mut series = every_two_seconds(300, 500.0, |t| 1000.0 + t);
        series[100].time_us = 5;
        is_still(&series);
        let wild = |time_us: u64, bytes: u64| MemorySample {
            time_us,
            step: u64::MAX,
            allocated: Bytes(bytes),
            reserved: Bytes(bytes),
            peak_allocated: Bytes(bytes),
        };
        is_still(&[wild(0, u64::MAX), wild(u64::MAX, 0)]);
        is_still(&[wild(u64::MAX, 0), wild(0, u64::MAX)]);
    }
}
