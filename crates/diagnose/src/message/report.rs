//! From a message to a report: who wrote it, where, in which phase and shape, why, and what helps.

use super::case::Case;
use super::find::Message;
use super::tables::{CURES, JUDGEMENTS, Kind, PHASES, PROGRAMS, SHAPES, TASKS};
use super::text::{Text, around};
use super::traceback::{self, Frame};
use super::verdict::{Confidence, Verdict};
use super::{Report, Role};
use crate::advice::{Advice, Basis};
use crate::cause::Cause;
use crate::frame::{self, Owner};
use crate::phase::Phase;
use crate::place::{self, Place};

/// As much of a message is shown.
const SHOWN: usize = 600;

/// The report of a message, but for its role among others.
pub(super) fn report(text: &Text, message: Message) -> Report {
    let at = message.span.start;
    let frames = traceback::frames(text, at);
    let mut case = Case {
        message: &message,
        framework: message.framework,
        frames: &frames,
        is_retry: traceback::is_within_handler(text, at),
        prefix: &text.prefixes[text.line_of(at)],
        near: &text.flat[around(&text.flat, &message.span, 300, 400)],
        task: "unknown",
        phase: None,
        shape: None,
        cause: None,
    };
    // A framework's own words may stand in the log of a program that runs it.
    let mut printed = PROGRAMS.iter().filter(|program| program.prints == case.framework.name());
    let program = printed.find(|program| case.is(program.when));
    case.framework = program.map_or(case.framework, |program| program.framework);
    case.phase = phase(&case);
    case.task = TASKS.iter().find(|task| case.is(task.when)).map_or(case.task, |task| task.name);
    // The code of a program that runs the framework is not the user's to change.
    let is_users = case.framework == message.framework;
    case.shape = SHAPES.iter().filter(|_| is_users).find(|shape| case.is(shape.when));
    let verdict = verdict(&case);
    case.cause = Some(verdict.cause);
    let fixes = fixes(&case, &verdict);
    let (place, code) = user_line(&frames, || traceback::below(text, at));
    let origin = text.origin(at);
    let shown = text.flat[at..].chars().take(SHOWN.min(message.span.len().max(120))).collect::<String>();
    Report {
        framework: case.framework,
        role: if message.sign.kind == Kind::Warning { Role::Warning } else { Role::Follows },
        line: origin.number,
        offset: origin.offset,
        class: class(text, &message),
        writer: message.writer,
        verdict,
        place,
        code,
        phase: case.phase,
        shape: case.shape,
        fixes,
        text: shown.lines().next().unwrap_or_default().to_owned(),
        facts: message.facts,
    }
}

/// The innermost frame that says what the job was doing; evaluation wins over the forward pass inside it.
fn phase(case: &Case<'_>) -> Option<Phase> {
    let shows = |frame: &Frame, evaluates: bool| {
        let case = Case { frames: std::slice::from_ref(frame), ..*case };
        let rows = PHASES.iter().filter(|row| (row.phase == Phase::Evaluation) == evaluates);
        rows.into_iter().find(|row| case.is(row.when)).map(|row| row.phase)
    };
    let inner = case.frames.iter().rev().find_map(|frame| shows(frame, false));
    match inner {
        None | Some(Phase::Forward) => case.frames.iter().find_map(|frame| shows(frame, true)).or(inner),
        inner => inner,
    }
}

/// What the first judgement that applies says, else what the words alone say.
fn verdict(case: &Case<'_>) -> Verdict {
    let sign = case.message.sign;
    let (cause, confidence, why, ask) = match JUDGEMENTS.iter().find(|row| case.is(row.when)) {
        Some(row) => (row.cause, row.confidence, row.why, row.ask),
        None => (sign.cause, sign.confidence, std::slice::from_ref(&sign.why), sign.ask),
    };
    let why = why.iter().map(|line| case.sentence(line)).collect();
    // Nothing was concluded that one could be sure of.
    let confidence = if cause == Cause::Unknown { Confidence::Low } else { confidence };
    Verdict { cause, confidence, why, ask: Some(ask).filter(|ask| !ask.is_empty()) }
}

/// Changes: those that help first.
fn fixes(case: &Case<'_>, verdict: &Verdict) -> Vec<Advice> {
    let advice = |title: &'static str, helps, how, why| Advice {
        title: title.into(),
        in_use: None,
        helps,
        how,
        why,
        folklore: None,
    };
    let of_practice = |title, why: &str| advice(title, true, Basis::Practice, why.to_owned());
    let cures = CURES.iter().filter(|cure| case.is(cure.when));
    let cures = cures.map(|cure| Advice {
        folklore: Some(cure.folklore).filter(|anchor| !anchor.is_empty()),
        ..advice(cure.title, !cure.fails, cure.how, case.sentence(cure.why))
    });
    let mut fixes: Vec<Advice> = cures.collect();
    // What the shape of the failure asks for comes first, unless somebody else is to blame.
    let place = if verdict.cause == Cause::OtherProcess { fixes.len() } else { 0 };
    let shape = case.shape.map(|shape| of_practice(shape.cure, shape.sentence));
    fixes.splice(place..place, shape);
    let ask = verdict.ask.filter(|_| !fixes.iter().any(|fix| fix.helps));
    fixes.extend(ask.map(|ask| of_practice(ask, "the message alone does not tell the cause")));
    fixes.sort_by_key(|fix| !fix.helps);
    fixes
}

/// The user's own deepest line and its code. Where only a library's lines lead to the message, it was logged by the
/// library and raised again: the traceback below it is the user's.
fn user_line(frames: &[Frame], below: impl FnOnce() -> Vec<Frame>) -> (Option<Place>, String) {
    let named = |frames: &[Frame]| place::named(frames.iter().rev().map(Frame::line));
    let is_users =
        |frames: &[Frame]| named(frames).is_some_and(|place| frame::owner(&place.line.file) == Owner::User);
    let below = if frames.is_empty() || is_users(frames) { Vec::new() } else { below() };
    let frames = if is_users(&below) { &below } else { frames };
    let inner = frames.iter().rev();
    let place = named(frames);
    let is_own = |frame: &&Frame| place.as_ref().is_some_and(|place| place.line.is(frame.line()));
    let code = inner.clone().find(is_own).map_or_else(String::new, |frame| frame.code.clone());
    (place, code)
}

/// The exception's class as printed right before a message, on its own line.
fn class(text: &Text, message: &Message) -> Option<String> {
    let line = text.span(text.line_of(message.span.start));
    // A message that begins with its class is found at the class; else the class stands before it.
    let before = &text.flat[line.start..message.span.end.min(line.end)];
    let words = before.split([' ', '`', '\'', '"', '>', '(']);
    let is_class = |word: &&str| {
        let name = word.rsplit('.').next().unwrap_or(word);
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && ["Error", "Exception", "Failure"].iter().any(|end| name.ends_with(end))
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    words.filter_map(|word| word.strip_suffix(':')).rfind(is_class).map(str::to_owned)
}
