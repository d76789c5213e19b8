//! Words with numbers among them, as the tables write them: `Tried to allocate {tried} (GPU {device};`.
//!
//! Words match in any case and however lines were wrapped. `{tried}` is an amount with its unit and fills that field
//! of [`Facts`]; `{tried:bytes}` may stand without a unit and counts bytes then, `{free:GiB}` has the unit that the
//! wording implies. `{device}` is a whole number, `{}` any number, which is not kept. `{shape}` and `{type}` are an
//! array's, and give `tried`; they may be read by patterns of their own, the shape first. ` ... ` stands for anything short.

use std::ops::Range;

use super::facts::Facts;
use super::size;
use super::text::{all, around, find, follows};

/// How much `...` may stand for, and how far before its words a number may begin.
const SHORT: usize = 100;

#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    Words(&'a str),
    /// The name of a number and its unit.
    Hole(&'a str, &'a str),
    Gap,
}

/// Every place where a pattern matches, with what is known and the numbers that are there.
pub(super) fn matches<'a>(
    text: &'a str,
    pattern: &'a str,
    known: &'a Facts,
) -> impl Iterator<Item = (Range<usize>, Facts)> + 'a {
    let parts = parts(pattern);
    let (before, words, behind) = match parts.as_slice() {
        [Part::Words(words), behind @ ..] => (None, *words, behind.to_vec()),
        [Part::Hole(name, unit), Part::Words(words), behind @ ..] => {
            (Some((*name, *unit)), *words, behind.to_vec())
        }
        _ => (None, "", Vec::new()),
    };
    all(text, words).filter_map(move |found| {
        let mut reading = Reading { facts: known.clone() };
        let start = match before {
            Some((name, unit)) => reading.take_before(text, found.start, name, unit)?,
            None => found.start,
        };
        let end = reading.follow(text, found.end, &behind)?;
        Some((start..end, reading.facts))
    })
}

/// The words that a pattern begins with.
pub(super) fn opening(pattern: &str) -> &str {
    let words = parts(pattern)
        .into_iter()
        .find_map(|part| if let Part::Words(words) = part { Some(words) } else { None });
    words.unwrap_or_default()
}

fn parts(pattern: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for (index, section) in pattern.split(" ... ").enumerate() {
        parts.extend((index > 0).then_some(Part::Gap));
        for piece in section.split('{') {
            let (hole, words) =
                piece.split_once('}').map_or((None, piece), |(hole, words)| (Some(hole), words));
            parts.extend(
                hole.map(|hole| hole.split_once(':').unwrap_or((hole, ""))).map(|(n, u)| Part::Hole(n, u)),
            );
            parts.extend((!words.trim().is_empty()).then_some(Part::Words(words.trim())));
        }
    }
    parts
}

/// The numbers of one match.
#[derive(Debug)]
struct Reading {
    facts: Facts,
}

impl Reading {
    /// Where the parts end that a text goes on with.
    fn follow(&mut self, text: &str, mut at: usize, parts: &[Part<'_>]) -> Option<usize> {
        for (index, part) in parts.iter().enumerate() {
            let rest = &text[at..];
            match part {
                Part::Words(words) if index > 0 && matches!(parts[index - 1], Part::Gap) => {
                    let near = &text[at..around(text, &(at..at), 0, SHORT + words.len()).end];
                    at += find(near, words)?.end;
                }
                Part::Words(words) => at += follows(rest, words)?,
                Part::Hole(name, unit) => at += rest.len() - self.take(rest, name, unit)?.len(),
                Part::Gap => {}
            }
        }
        Some(at)
    }

    /// Takes the number that a text starts with, and gives the text behind it.
    fn take<'a>(&mut self, text: &'a str, name: &str, unit: &str) -> Option<&'a str> {
        match name {
            "" => size::behind_number(text),
            "device" => {
                let (index, rest) = size::leading_number(text)?;
                self.facts.device = self.facts.device.or(index.try_into().ok());
                Some(rest)
            }
            "shape" => {
                let end = text.find([']', ')'])?;
                self.facts.elements = Some(size::product(&text[..end])?);
                Some(&text[end..])
            }
            "type" => {
                self.facts.put("tried", size::of_elements(self.facts.elements?, text)?);
                Some(text)
            }
            name => {
                let (bytes, rest) = size::amount(text, unit)?;
                self.facts.put(name, bytes);
                Some(rest)
            }
        }
    }

    /// Takes the number that ends where words begin, and gives where it begins.
    fn take_before(&mut self, text: &str, words: usize, name: &str, unit: &str) -> Option<usize> {
        let head = &text[around(text, &(words..words), SHORT, 0).start..words];
        let is_within = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
        let digits = head.char_indices().filter(|(_, c)| c.is_ascii_digit());
        let at = digits.map(|(at, _)| at).rfind(|at| !head[..*at].ends_with(is_within))?;
        // A line wrapped within a number leaves the rest of it here.
        if head[..at].trim_end().trim_end_matches(['.', ',']).ends_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let amount: String = head[at..].split_whitespace().collect();
        let rest = self.take(&amount, name, unit)?;
        rest.is_empty().then_some(words - head.len() + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a pattern finds, as `name=bytes`.
    fn check(pattern: &str, text: &str, expected: &str) {
        let found = matches(text, pattern, &Facts::default()).next().map(|(_, facts)| {
            let amounts = facts.amounts().into_iter().filter_map(|(name, bytes)| Some((name, bytes?.0)));
            let index = facts.device.map(|index| ("device", u64::from(index)));
            let shown: Vec<String> =
                amounts.chain(index).map(|(name, value)| format!("{name}={value}")).collect();
            shown.join(" ")
        });
        assert_eq!(found.unwrap_or_else(|| "nothing".to_owned()), expected, "{pattern} in {text}");
    }

    #[test]
    fn numbers_are_read_where_the_pattern_has_holes() {
        check("needs {tried} more", "it NEEDS 2 KiB\nmo re", "tried=2048");
        check("needs {tried}", "it needs 2048", "nothing");
        check("needs {tried:bytes}", "it needs 2048", "tried=2048");
        check("({free:KiB}/{total})", "(1/4 KiB)", "total=4096 free=1024");
        check("{free} free on GPU {device}", "of 9 GiB, 1 KiB free on GPU 3", "free=1024 device=3");
        check("{free} free", "2.5\n1 KiB free", "nothing");
        check("used {} of {total}", "used 0.9 of 1 KiB", "total=1024");
        check("shape[{shape}] and type {type}", "shape[4,8] and type half", "tried=64");
        check("out of memory ... wanted {tried}", "out of memory (as ever), wanted 1 B", "tried=1");
        check("out of memory ... wanted {tried}", &format!("out of memory{:200}wanted 1 B", "."), "nothing");
    }
}
