//! Bars and graphs of characters.

use oomph_trace::sidecar::MemorySample;

/// The levels of a character: eighths of its height, or what looks like them.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '%', '#'];

/// A bar of so many characters: the parts of a whole after each other, each with its own sign, then what is left of it.
pub(super) fn bar(parts: &[(f64, char)], width: usize, left: char) -> String {
    let mut sum = 0.0;
    let mut ends = Vec::new();
    for (share, sign) in parts {
        sum += share.clamp(0.0, 1.0);
        ends.push(((sum.min(1.0) * width as f64).round() as usize, *sign));
    }
    (0..width).map(|at| ends.iter().find(|(end, _)| at < *end).map_or(left, |(_, sign)| *sign)).collect()
}

/// What was in use over time, the top line first, each so many characters wide: from the least at the bottom to the most
/// at the top, so that slow growth is seen; differences below a hundredth are not. A column shows the most of its time,
/// or what was there before where nothing was noted.
pub(super) fn graph(history: &[MemorySample], width: usize, height: usize, ascii: bool) -> Vec<String> {
    let levels = columns(history, width, height * 8);
    let signs = if ascii { ASCII } else { BLOCKS };
    let line = |row: usize| {
        let below = (height - 1 - row) * 8;
        levels.iter().map(|level| signs[level.saturating_sub(below).min(8)]).collect()
    };
    (0..height).map(line).collect()
}

/// The level of each column, from 0 to `most`.
fn columns(history: &[MemorySample], width: usize, most: usize) -> Vec<usize> {
    let (Some(first), Some(last)) = (history.first(), history.last()) else { return vec![0; width] };
    let span = u128::from(last.time_us.saturating_sub(first.time_us)) + 1;
    let mut highest: Vec<Option<u64>> = vec![None; width];
    for sample in history {
        let at = u128::from(sample.time_us.saturating_sub(first.time_us)) * width as u128 / span;
        if let Some(column) = usize::try_from(at).ok().and_then(|at| highest.get_mut(at)) {
            *column = Some(column.unwrap_or(0).max(sample.allocated.0));
        }
    }
    let values = || history.iter().map(|sample| sample.allocated.0);
    let (least, most_used) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
    let range = (most_used - least).max(most_used / 100).max(1);
    let mut before = first.allocated.0;
    let level = |column: Option<u64>| {
        before = column.unwrap_or(before);
        // The least is seen, too.
        1 + ((before - least) as f64 / range as f64 * (most - 1) as f64).round() as usize
    };
    highest.into_iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use oomph_trace::Bytes;

    use super::*;

    fn history(values: &[u64]) -> Vec<MemorySample> {
        let sample = |(at, value): (usize, &u64)| MemorySample {
            time_us: 100 + at as u64 * 2_000_000,
            step: 0,
            allocated: Bytes(*value),
            reserved: Bytes(*value),
            peak_allocated: Bytes(*value),
        };
        values.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn a_bar_shows_its_parts_and_what_is_left() {
        assert_eq!(bar(&[(0.5, '#'), (0.25, '+')], 8, '.'), "####++..");
        assert_eq!(bar(&[(0.9, '#'), (0.9, '+')], 4, '.'), "####");
        assert_eq!(bar(&[], 3, '.'), "...");
    }

    #[test]
    fn a_graph_rises_with_what_is_in_use() {
        assert_eq!(graph(&history(&[100, 125, 150, 175, 200]), 5, 1, false), ["▁▃▅▆█"]);
        assert_eq!(graph(&history(&[100, 125, 150, 175, 200]), 5, 1, true), [".-+*#"]);
        assert_eq!(graph(&history(&[0, 25, 50, 75, 100]), 5, 2, false), ["  ▁▄█", "▁▅███"]);
        // Fewer columns than values show the most of each, more repeat the value before.
        assert_eq!(graph(&history(&[100, 1, 1, 100]), 2, 1, false), ["██"]);
        assert_eq!(graph(&history(&[50, 100]), 4, 1, false), ["▁▁▁█"]);
        assert_eq!(graph(&history(&[1000, 1000, 1001]), 3, 1, false), ["▁▁▂"]);
        assert_eq!(graph(&history(&[0, 0]), 2, 1, false), ["▁▁"]);
        assert_eq!(graph(&[], 3, 1, false), ["   "]);
    }
}
