//! One message with its surroundings, and what the tables ask of it: whether conditions hold, what a sentence says.
//!
//! All conditions of a list must hold. In each, ` | ` stands between alternatives, and ` & ` binds closer.
//!
//! - `framework is vllm, sglang`, `phase is not evaluation`: a word about the message is one of these, or none. Words
//!   there are for `framework`, `allocator`, `version`, `kind`, `books` (the kind, if all its numbers are there),
//!   `wording` (the cause that the words alone name), `memory`, `retry`, and once they are known `task` (training, inference,
//!   serving, unknown), `phase`, `shape`, `cause`.
//! - `code has torch.cat(`, `code lacks no_grad`: a text around it has these letters, or not. Texts are the `file`,
//!   `function` and `code` of the frames, the `innermost` function, the line's `prefix` and what stands `near`.
//! - `tried > free + cached`, `cached >= 5% reserved`, `tried <= 2MiB`: amounts; false where one is not known.
//! - `has free`, `no free`: whether an amount is known.
//!
//! In a sentence `{free + cached}` is an amount, `{allocated / total}` a share, `{tried:bytes}` a count of bytes.

use std::fmt::Write as _;

use oomph_trace::Bytes;

use super::find::Message;
use super::framework::Framework;
use super::tables::{Kind, Shape};
use super::traceback::Frame;
use super::{size, text};
use crate::cause::Cause;
use crate::phase::Phase;

/// A message and what is known of it so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub message: &'a Message,
    pub framework: Framework,
    pub frames: &'a [Frame],
    /// Whether it was written while an earlier failure was being handled.
    pub is_retry: bool,
    /// What stood in front of its line.
    pub prefix: &'a str,
    /// The text around it.
    pub near: &'a str,
    /// What the program is for.
    pub task: &'static str,
    pub phase: Option<Phase>,
    pub shape: Option<&'static Shape>,
    pub cause: Option<Cause>,
}

impl Case<'_> {
    /// Whether all conditions hold.
    pub(super) fn is(&self, conditions: &[&str]) -> bool {
        let holds = |test: &str| self.holds(test).unwrap_or(false);
        let any = |condition: &&str| condition.split(" | ").any(|part| part.split(" & ").all(holds));
        conditions.iter().all(any)
    }

    /// Whether one condition holds; `None` if it cannot be read or an amount is not known.
    fn holds(&self, test: &str) -> Option<bool> {
        if let Some(name) = test.strip_prefix("has ") {
            return Some(self.amount(name).is_some());
        } else if let Some(name) = test.strip_prefix("no ") {
            return Some(self.amount(name).is_none());
        } else if let Some((subject, letters)) = test.split_once(" has ") {
            return self.has(subject, letters);
        } else if let Some((subject, letters)) = test.split_once(" lacks ") {
            return self.has(subject, letters).map(|has| !has);
        } else if let Some((subject, list)) = test.split_once(" is not ") {
            return self.is_one_of(subject, list).map(|is| !is);
        } else if let Some((subject, list)) = test.split_once(" is ") {
            return self.is_one_of(subject, list);
        }
        let amounts = |sign| test.split_once(sign).map(|(a, b)| Some((self.amount(a)?, self.amount(b)?)));
        match (amounts(" <= "), amounts(" >= "), amounts(" < "), amounts(" > ")) {
            (Some(pair), ..) => pair.map(|(a, b)| a <= b),
            (_, Some(pair), ..) => pair.map(|(a, b)| a >= b),
            (_, _, Some(pair), _) => pair.map(|(a, b)| a < b),
            (_, _, _, pair) => pair?.map(|(a, b)| a > b),
        }
    }

    fn is_one_of(&self, subject: &str, list: &str) -> Option<bool> {
        Some(self.words(subject)?.iter().any(|word| list.split(", ").any(|one| one == word)))
    }

    fn has(&self, subject: &str, letters: &str) -> Option<bool> {
        match subject {
            "near" => Some(text::find(self.near, letters).is_some()),
            subject => Some(self.words(subject)?.iter().any(|word| word.contains(letters))),
        }
    }

    /// What is said of a subject: a word, or the same part of every frame.
    fn words(&self, subject: &str) -> Option<Vec<String>> {
        let of_frames = |part: fn(&Frame) -> String| self.frames.iter().map(part).collect();
        let either = |is: bool, yes, no| if is { yes } else { no };
        let word = match subject {
            "file" => return Some(of_frames(|frame| frame.file.replace('\\', "/"))),
            "function" => return Some(of_frames(|frame| frame.function.clone())),
            "code" => return Some(of_frames(|frame| frame.code.clone())),
            "innermost" => self.frames.last().map_or("", |frame| &frame.function),
            "prefix" => self.prefix,
            "framework" => self.framework.name(),
            "version" => self.message.writer.unwrap_or("none"),
            "allocator" => either(self.framework.is_pytorch(), "pytorch", "other"),
            "books" => self.books(),
            "kind" => return Some(vec![format!("{:?}", self.message.sign.kind).to_lowercase()]),
            "wording" => self.message.sign.cause.name(),
            "cause" => self.cause.map_or("none", Cause::name),
            "phase" => self.phase.map_or("none", Phase::name),
            "shape" => self.shape.map_or("none", |shape| shape.name),
            "task" => self.task,
            "retry" => either(self.is_retry, "yes", "no"),
            "memory" => either(self.shares_host(), "shared", "own"),
            _ => return None,
        };
        Some(vec![word.to_owned()])
    }

    /// The arithmetic that the numbers allow, where all of them are there.
    fn books(&self) -> &'static str {
        let (name, needs): (_, &[&str]) = match self.message.sign.kind {
            Kind::Device | Kind::Logged => ("device", &["tried", "total", "allocated", "reserved"]),
            Kind::Arena => ("arena", &["total", "allocated"]),
            Kind::Pool => ("pool", &["tried", "total", "allocated"]),
            Kind::Limit => ("limit", &["tried", "total", "allocated"]),
            Kind::Free => ("free", &["tried", "free"]),
            Kind::Wording | Kind::Bare | Kind::Warning | Kind::Any => ("none", &[]),
        };
        if needs.iter().all(|name| self.amount(name).is_some()) { name } else { "none" }
    }

    /// An AMD card reports a little less than its size; a round number is memory shared with the host.
    fn shares_host(&self) -> bool {
        let facts = &self.message.facts;
        let is_round = |total: Bytes| total >= Bytes::gib(32) && total.0.is_multiple_of(1 << 30);
        facts.processes.is_empty() && facts.total.is_some_and(is_round)
    }

    /// The value of a sum, such as `free + cached`, `5% reserved` or `2MiB`.
    fn amount(&self, sum: &str) -> Option<Bytes> {
        let (mut total, mut is_minus, mut tenths) = (Bytes::ZERO, false, 1000);
        for word in sum.split_whitespace() {
            match word.strip_suffix('%') {
                Some(percent) => tenths = (percent.parse::<f64>().ok()? * 10.0) as u128,
                None if matches!(word, "+" | "-") => is_minus = word == "-",
                None => {
                    let bytes = u128::from(self.named(word)?.0) * tenths / 1000;
                    let bytes = Bytes(u64::try_from(bytes).unwrap_or(u64::MAX));
                    total = if is_minus { total.saturating_sub(bytes) } else { total + bytes };
                    tenths = 1000;
                }
            }
        }
        Some(total)
    }

    fn named(&self, name: &str) -> Option<Bytes> {
        let facts = &self.message.facts;
        match name {
            "cached" => facts.cached(),
            "outside" => facts.outside(),
            "other_allocations" => Some(facts.other_allocations.unwrap_or_default()),
            "elsewhere" => facts.other_process.or(facts.outside()),
            "limit" => facts.limit(),
            "unlisted" => Some(facts.total?.saturating_sub(facts.free?).saturating_sub(facts.this_process?)),
            _ => match facts.amounts().into_iter().find(|(known, _)| *known == name) {
                Some((_, bytes)) => bytes,
                None => size::leading(name).map(|(bytes, _)| bytes),
            },
        }
    }

    /// A sentence with its amounts.
    pub(super) fn sentence(&self, sentence: &str) -> String {
        let mut out = String::new();
        for piece in sentence.split('{') {
            let (hole, words) =
                piece.split_once('}').map_or((None, piece), |(hole, rest)| (Some(hole), rest));
            let amount = |sum: &str| self.amount(sum).unwrap_or_default();
            let _ = match hole.map(|hole| (hole, hole.split_once(" / "), hole.strip_suffix(":bytes"))) {
                Some((_, Some((part, whole)), _)) => {
                    write!(out, "{:.0}%", 100.0 * amount(part).share_of(amount(whole)))
                }
                Some((_, _, Some(count))) => write!(out, "{}", amount(count).0),
                Some((sum, ..)) => write!(out, "{}", amount(sum)),
                None => Ok(()),
            };
            out.push_str(words);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::Facts;
    use super::super::tables::{CURES, JUDGEMENTS, PHASES, PROGRAMS, SHAPES, SIGNS, TASKS};
    use super::*;

    /// Checks with a case of which everything is known.
    fn check(of: impl FnOnce(Case<'_>)) {
        let one = Some(Bytes(1));
        let mut facts = Facts { other_allocations: one, this_process: one, ..Facts::default() };
        for (name, _) in Facts::default().amounts() {
            facts.put(name, Bytes(1));
        }
        let sign = &SIGNS[0];
        let message = Message { span: 0..0, sign, framework: sign.framework, facts, writer: None };
        of(Case {
            message: &message,
            framework: message.framework,
            frames: &[],
            is_retry: false,
            prefix: "",
            near: "",
            task: "unknown",
            phase: None,
            shape: None,
            cause: None,
        });
    }

    #[test]
    fn every_condition_of_the_tables_can_be_read() {
        let judgements = JUDGEMENTS.iter().map(|row| row.when).chain(CURES.iter().map(|row| row.when));
        let shown = PHASES.iter().map(|row| row.when).chain(SHAPES.iter().map(|row| row.when));
        let lists = judgements.chain(shown).chain(PROGRAMS.iter().map(|row| row.when));
        let lists = lists.chain(TASKS.iter().map(|row| row.when));
        let tests = lists.flatten().flat_map(|line| line.split(" | ")).flat_map(|part| part.split(" & "));
        check(|case| tests.for_each(|test| assert!(case.holds(test).is_some(), "{test}")));
        check(|case| assert_eq!(case.holds("tryed > free"), None));
    }

    #[test]
    fn every_amount_in_the_sentences_is_known() {
        let sentences = JUDGEMENTS.iter().flat_map(|row| row.why).chain(CURES.iter().map(|row| &row.why));
        let holes = sentences.flat_map(|sentence| sentence.split('{').skip(1));
        let holes = holes.filter_map(|piece| piece.split_once('}')).map(|(hole, _)| hole);
        let sums = holes.flat_map(|hole| hole.trim_end_matches(":bytes").split(" / "));
        check(|case| sums.for_each(|sum| assert!(case.amount(sum).is_some(), "{sum}")));
    }

    #[test]
    fn sums_and_shares_are_computed() {
        check(|case| {
            assert_eq!(case.amount("free + tried + 2MiB - 1MiB"), Some(Bytes((1 << 20) + 2)));
            assert_eq!(case.amount("12.5% 8KiB"), Some(Bytes(1 << 10)));
            assert_eq!(case.sentence("{free:bytes} of {1KiB}, {free / 4B}"), "1 of 1.00 KiB, 25%");
        });
    }
}
