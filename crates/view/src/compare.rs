//! Two recordings side by side: what each line had in use at the peak of either.

use std::collections::BTreeMap;

use oomph_trace::Bytes;

use crate::groups::{Groups, Part};
use crate::lives::Lives;

/// A line in two recordings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grown {
    /// The line.
    pub name: String,
    /// In use at the peak of the first, and in how many blocks.
    pub before: (Bytes, u64),
    /// In use at the peak of the second.
    pub after: (Bytes, u64),
}

/// What a recording has in use in one slot, by line.
pub fn by_line(groups: &Groups, lives: &Lives, slot: u32) -> BTreeMap<String, (Bytes, u64)> {
    let lines = &groups.parts[Part::Line as usize];
    let mut sums: BTreeMap<String, (Bytes, u64)> = BTreeMap::new();
    for (life, number) in lives.of.iter().zip(&lines.of).filter(|(life, _)| life.holds(slot)) {
        let sum = sums.entry(lines.names[*number as usize].clone()).or_default();
        *sum = (sum.0 + life.size, sum.1 + 1);
    }
    sums
}

/// Every line of either, those that differ most first.
pub fn grown(before: &BTreeMap<String, (Bytes, u64)>, after: &BTreeMap<String, (Bytes, u64)>) -> Vec<Grown> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let of =
        |sums: &BTreeMap<String, (Bytes, u64)>, name: &String| sums.get(name).copied().unwrap_or_default();
    let mut lines: Vec<Grown> = names
        .into_iter()
        .map(|name| Grown { name: name.clone(), before: of(before, name), after: of(after, name) })
        .collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.after.0.0.abs_diff(line.before.0.0)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_most_come_first_whichever_way() {
        let sums = |all: &[(&str, u64)]| {
            all.iter()
                .map(|(name, bytes)| ((*name).to_owned(), (Bytes(*bytes), 1)))
                .collect::<BTreeMap<_, _>>()
        };
        let lines = grown(&sums(&[("a", 10), ("b", 50)]), &sums(&[("a", 12), ("c", 9)]));
        let shown: Vec<_> =
            lines.iter().map(|line| (line.name.as_str(), line.before.0.0, line.after.0.0)).collect();
        assert_eq!(shown, [("b", 50, 0), ("c", 0, 9), ("a", 10, 12)]);
    }
}
