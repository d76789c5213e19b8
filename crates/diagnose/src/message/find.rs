//! The messages of a text, by the table of signs.

use std::ops::Range;

use super::facts::Facts;
use super::framework::Framework;
use super::tables::{Kind, SIGNS, Sign};
use super::text::{Text, around, find, has_word};
use super::{pattern, processes, speech};
use crate::cause::Cause;

/// A message, before it is judged.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Where it is in the text.
    pub span: Range<usize>,
    /// The row that knows it.
    pub sign: &'static Sign,
    pub framework: Framework,
    pub facts: Facts,
    /// The versions that write it this way.
    pub writer: Option<&'static str>,
}

impl Message {
    fn new(span: Range<usize>, sign: &'static Sign, facts: Facts) -> Message {
        Message { span, sign, framework: sign.framework, facts, writer: None }
    }

    /// Whether its words alone name this cause.
    pub(super) fn names(&self, cause: Cause) -> bool {
        self.sign.cause == cause
    }
}

/// Every message behind a position. Several rows may find the same one; the first of them comes first.
pub(super) fn messages(text: &Text, from: usize) -> Vec<Message> {
    let part = &text.flat[from..];
    let mut found: Vec<Message> = Vec::new();
    for sign in SIGNS {
        for message in of_sign(sign, part).into_iter().chain(lines(sign, text, from)) {
            match joined(&mut found, &message) {
                Some(before) => {
                    before.facts.fill(&message.facts);
                    before.span.end = message.span.end;
                }
                None => found.push(message),
            }
        }
    }
    for message in &mut found {
        message.span = message.span.start + from..message.span.end + from;
    }
    found.retain(|message| is_said(text, message));
    found
}

/// Whether a message that little more than its words make one is said, and not spoken of.
fn is_said(text: &Text, message: &Message) -> bool {
    let (first, last) = (text.line_of(message.span.start), text.line_of(message.span.end.saturating_sub(1)));
    let lines = &text.flat[text.span(first).start..text.span(last).end];
    match message.sign.kind {
        Kind::Any => !speech::is_code(lines) && speech::is_report(lines, &text.flat[message.span.clone()]),
        Kind::Bare => !speech::is_code(lines),
        _ => true,
    }
}

/// The message that a part belongs to.
fn joined<'a>(found: &'a mut [Message], part: &Message) -> Option<&'a mut Message> {
    let is_before = |other: &&mut Message| {
        other.framework == part.framework
            && other.sign.kind == part.sign.kind
            && other.facts.allocated.is_none()
            && other.span.start < part.span.start
    };
    found.iter_mut().rev().filter(|_| part.sign.joins).find(is_before)
}

fn of_sign(sign: &'static Sign, text: &str) -> Vec<Message> {
    let (before, after) = if sign.covers { (sign.before, sign.after) } else { (0, 0) };
    let mut found: Vec<Vec<Message>> = vec![Vec::new(); sign.says.len()];
    for (index, says) in sign.says.iter().enumerate() {
        let known = Facts::default();
        for (span, facts) in pattern::matches(text, says, &known) {
            let is_known = found.iter().any(|list| {
                let behind = list.partition_point(|other| other.span.start <= span.start + before);
                behind > 0 && span.start < list[behind - 1].span.end + after
            });
            if !is_known {
                found[index].extend(complete(Message::new(span, sign, facts), text, says));
            }
        }
    }
    let found: Vec<Message> = found.into_iter().flatten().collect();
    // Of a run of warnings the last is the nearest to the end.
    let skipped = if sign.kind == Kind::Warning { found.len().saturating_sub(1) } else { 0 };
    found.into_iter().skip(skipped).collect()
}

/// The message with what stands around it, where that is as its row says. Another that begins as it does is not its own.
fn complete(mut message: Message, text: &str, says: &str) -> Option<Message> {
    let sign = message.sign;
    let mut window = around(text, &message.span, sign.before, sign.after);
    if let Some(next) = find(&text[message.span.end..window.end], pattern::opening(says)) {
        window.end = message.span.end + next.start;
    }
    let has = |words: &str| words.split(" | ").any(|words| has_word(&text[window.clone()], words));
    if !sign.near.iter().all(|words| has(words)) || sign.unless.iter().any(|words| has(words)) {
        return None;
    }
    let start = message.span.start;
    let mut end = window.end;
    if let Some(last) = sign.until.iter().find_map(|words| find(&text[message.span.end..end], words)) {
        message.span.end += last.end;
        // The end of a line is a guess: a wrapped message goes on behind it.
        end = if last.is_empty() { end } else { message.span.end };
    }
    for reads in sign.reads {
        let mut areas = [start..end, window.start..end].into_iter();
        let read = areas.find_map(|area| pattern::matches(&text[area], reads, &message.facts).next());
        message.facts = read.map_or(message.facts, |(_, facts)| facts);
    }
    if sign.processes {
        processes::read(&text[start..end], &mut message.facts);
    }
    let written = |words: &str| words.is_empty() || find(&text[start..window.end], words).is_some();
    message.writer = sign.versions.iter().find(|(_, words)| written(words)).map(|(versions, _)| *versions);
    Some(message)
}

/// Lines that are a message only if they say nothing else: a shell's `Killed`, Python's `MemoryError`.
fn lines(sign: &'static Sign, text: &Text, from: usize) -> Vec<Message> {
    let indices = if sign.line.is_empty() { 0..0 } else { text.line_of(from)..text.len() };
    let is_such = |index: &usize| {
        let line = text.line(*index);
        sign.line.iter().any(|pattern| is_line(line, pattern))
            && !sign.unless.iter().any(|words| find(line, words).is_some())
    };
    indices
        .filter(is_such)
        .map(|index| {
            let span = text.span(index);
            Message::new(span.start.saturating_sub(from)..span.end - from, sign, Facts::default())
        })
        .collect()
}

fn is_line(line: &str, pattern: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    match pattern.strip_prefix("... ") {
        Some(pattern) => (0..words.len()).any(|from| are_words(&words[from..], pattern)),
        None => are_words(&words, pattern),
    }
}

fn are_words(words: &[&str], pattern: &str) -> bool {
    let mut words = words.iter();
    for wanted in pattern.split_whitespace() {
        let is_there = match (wanted, words.next()) {
            ("...", _) => return true,
            ("*", word) => word.is_some(),
            ("#", word) => word.is_some_and(|word| word.parse::<u32>().is_ok()),
            (wanted, Some(word)) => match wanted.strip_prefix('*') {
                Some(end) => word.ends_with(end),
                None => *word == wanted,
            },
            (_, None) => false,
        };
        if !is_there {
            return false;
        }
    }
    words.next().is_none()
}
