//! Messages that are known by one phrase: what it means, and behind which words the numbers stand.

use super::facts::{Facts, Framework};
use super::size;
use super::text::{after, all, around, find};
use super::verdict::Confidence;
use super::wording::{Kind, Message};
use crate::cause::Cause;

/// A message and its meaning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phrase {
    /// What it is known by.
    pub says: &'static str,
    /// What must stand near it, if anything.
    pub near: &'static str,
    pub framework: Framework,
    pub kind: Kind,
    pub cause: Cause,
    pub confidence: Confidence,
    pub why: &'static str,
    /// Which numbers stand behind which words.
    pub numbers: &'static [(Number, &'static str)],
}

/// A number of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Tried,
    Total,
    Allocated,
    Free,
    Device,
}

/// How far from the phrase its numbers may stand.
const BEFORE: usize = 160;
const AFTER: usize = 320;

impl Phrase {
    /// A message that says its cause.
    pub(super) const fn of(
        framework: Framework,
        cause: Cause,
        confidence: Confidence,
        says: &'static str,
        why: &'static str,
    ) -> Phrase {
        Phrase { says, near: "", framework, kind: Kind::Wording, cause, confidence, why, numbers: &[] }
    }

    pub(super) const fn near(self, near: &'static str) -> Phrase {
        Phrase { near, ..self }
    }

    pub(super) const fn bare(self) -> Phrase {
        Phrase { kind: Kind::Bare, ..self }
    }

    /// A message whose numbers say more than its wording.
    pub(super) const fn counted(self) -> Phrase {
        Phrase { kind: Kind::Numbers, ..self }
    }

    pub(super) const fn with(self, numbers: &'static [(Number, &'static str)]) -> Phrase {
        Phrase { numbers, ..self }
    }

    fn find_all(&self, text: &str, found: &mut Vec<Message>) {
        for anchor in all(text, self.says) {
            let around = &text[around(text, &anchor, BEFORE, AFTER)];
            if !self.near.is_empty() && find(around, self.near).is_none() {
                continue;
            }
            let mut report = Message::new(anchor.clone(), self.framework, self.kind).told(
                self.cause,
                self.confidence,
                self.why,
            );
            for (number, marker) in self.numbers {
                // The nearest behind the phrase, else the one before it.
                let from_phrase = &text[anchor.start..super::text::around(text, &anchor, 0, AFTER).end];
                let place = after(from_phrase, marker).or_else(|| after(around, marker));
                place.into_iter().for_each(|rest| put(*number, rest, &mut report.facts));
            }
            found.push(report);
        }
    }
}

fn put(number: Number, rest: &str, facts: &mut Facts) {
    let field = match number {
        Number::Device => {
            let index = size::leading_number(rest).and_then(|(index, _)| index.try_into().ok());
            facts.device = facts.device.or(index);
            return;
        }
        Number::Tried => &mut facts.tried,
        Number::Total => &mut facts.total,
        Number::Allocated => &mut facts.allocated,
        Number::Free => &mut facts.free,
    };
    *field = field.or_else(|| size::leading_bytes(rest).map(|(bytes, _)| bytes));
}

/// Every message of a table.
pub(super) fn find_all(table: &[Phrase], text: &str, found: &mut Vec<Message>) {
    for phrase in table {
        phrase.find_all(text, found);
    }
}
