//! Each failure once: the fullest of the messages about it, with what only the others say.

use super::find::Message;
use super::tables::Kind;
use super::text::Text;
use crate::cause::Cause;

/// Messages within so many lines of each other may be about one failure.
const NEAR: usize = 4;
/// Words that anybody may say are about a failure this many lines off.
const HEARD: usize = 12;

/// The messages, one a failure, in the order of the text.
pub(super) fn distinct(text: &Text, mut found: Vec<Message>) -> Vec<Message> {
    // Of two on one line the fuller comes first, and of equals the one that was found first.
    found.sort_by_key(|message| (text.line_of(message.span.start), rank(message)));
    // Several rows may know the same words.
    found.dedup_by(|again, message| {
        rank(again).1 == rank(message).1
            && message.span.contains(&again.span.start)
            && !is_pair(message, again)
    });
    let mut kept: Vec<Message> = Vec::new();
    for message in found {
        let line = text.line_of(message.span.start);
        let same = kept.iter_mut().rev().take(8).find(|other| {
            let (first, last) =
                (text.line_of(other.span.start), text.line_of(other.span.end.saturating_sub(1)));
            let is_inside = (first..=last).contains(&line) || message.span.start < other.span.end;
            let is_near = line.saturating_sub(last) <= NEAR && text.prefixes[line] == text.prefixes[first];
            let is_heard = line.saturating_sub(last) <= HEARD && (is_any(other) || is_any(&message));
            is_inside && !is_pair(other, &message) || is_heard || is_near && is_one_failure(other, &message)
        });
        match same {
            Some(other) if is_any(other) && !is_any(&message) => *other = message,
            Some(other) if is_any(&message) && !is_any(other) => {}
            // The program says itself that it went on.
            Some(other)
                if message.sign.kind == Kind::Warning
                    && other.sign.kind == Kind::Bare
                    && other.framework == message.framework =>
            {
                *other = message;
            }
            Some(other)
                if rank(&message) < rank(other) && is_weaker(other) && message.sign.kind != Kind::Warning =>
            {
                let weaker = std::mem::replace(other, message);
                other.span.start = other.span.start.min(weaker.span.start);
                other.facts.fill(&weaker.facts);
            }
            Some(other) if other.sign.kind != Kind::Warning => other.facts.fill(&message.facts),
            Some(_) => {}
            None => kept.push(message),
        }
    }
    kept
}

/// Fuller messages first.
fn rank(message: &Message) -> (bool, u8) {
    let kind = match message.sign.kind {
        Kind::Device | Kind::Arena | Kind::Pool | Kind::Limit | Kind::Free | Kind::Logged => 0,
        Kind::Wording => 1,
        Kind::Bare => 2,
        Kind::Warning => 3,
        Kind::Any => 4,
    };
    (message.facts.tried.is_none() || message.sign.kind == Kind::Warning, kind)
}

/// Whether no row but that of words which anybody may say knows a message.
fn is_any(message: &Message) -> bool {
    message.sign.kind == Kind::Any
}

/// Whether a message is only the shadow of another.
fn is_weaker(message: &Message) -> bool {
    matches!(message.sign.kind, Kind::Bare | Kind::Logged)
}

/// Two whole messages on one line: different failures.
fn is_pair(a: &Message, b: &Message) -> bool {
    let is_whole = |message: &Message| rank(message).1 == 0 && message.facts.allocated.is_some();
    is_whole(a) && is_whole(b) && a.facts != b.facts
}

/// Whether a message a few lines on is about the failure that another one reports.
fn is_one_failure(a: &Message, b: &Message) -> bool {
    let is_bare = a.sign.kind == Kind::Bare || b.sign.kind == Kind::Bare;
    let is_host = |message: &Message| message.names(Cause::HostMemory);
    let (framework, is_same) = (a.framework.name(), a.framework == b.framework);
    // XLA has TensorFlow's allocator, which speaks first.
    let is_xla = framework == "tensorflow" && b.framework.name() == "jax";
    a.sign.kind == Kind::Logged && b.framework.is_pytorch()
        || is_bare && is_host(a) == is_host(b) && a.sign.kind != Kind::Warning
        || is_host(a) && is_host(b) && framework != "numpy"
        // A library that found no room, and the size of a request that found none either.
        || a.names(Cause::Disguised) && a.facts.tried.is_none() && is_same
        || framework == "tensorflow" && (is_same || is_xla) && a.facts.tried == b.facts.tried
}
