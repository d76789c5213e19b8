//! Changes of a text: how they are written, put together and shown.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::lines::Lines;

/// What is replaced by what.
pub(super) type Edit = (TextRange, String);

/// Text before a place.
pub(super) fn before(at: TextSize, text: impl Into<String>) -> Edit {
    (TextRange::empty(at), text.into())
}

/// An expression as the argument of a function.
pub(super) fn wrapped(expr: &Expr, function: &str) -> Vec<Edit> {
    // `a, b` would be two arguments.
    let is_bare = matches!(expr, Expr::Tuple(tuple) if !tuple.parenthesized);
    let (open, close) = if is_bare { ("((", "))") } else { ("(", ")") };
    vec![before(expr.start(), format!("{function}{open}")), before(expr.end(), close)]
}

/// `x.method(…)` as `x`; none where it is no call of a method.
pub(super) fn without_method(call: &ExprCall) -> Option<Edit> {
    let Expr::Attribute(method) = &*call.func else { return None };
    // Where it stands in brackets, one of them is behind its end.
    Some((TextRange::new(method.attr.start() - TextSize::from(1), call.end()), String::new()))
}

/// A call with this argument by name, in place of the one it has.
pub(super) fn with_keyword(call: &ExprCall, name: &str, value: &str) -> Edit {
    match call.arguments.find_keyword(name) {
        Some(keyword) => (keyword.value.range(), value.to_owned()),
        None => {
            let comma = if call.arguments.is_empty() { "" } else { ", " };
            before(call.arguments.end() - TextSize::from(1), format!("{comma}{name}={value}"))
        }
    }
}

/// The text with the edits made. Of edits that are in each other's way, those of the first in the list are made.
pub(super) fn applied(source: &str, edits: &[Edit]) -> String {
    let mut kept: Vec<&Edit> = Vec::new();
    for edit in edits {
        let (range, _) = edit;
        let is_apart = |other: &&Edit| {
            edit != *other && (range.end() <= other.0.start() || other.0.end() <= range.start())
        };
        if kept.iter().all(is_apart) {
            kept.push(edit);
        }
    }
    // Of several at one place, what is put before it stands first, in the order of the list.
    kept.sort_by_key(|(range, _)| (range.start(), range.end()));
    let mut text = source.to_owned();
    for (range, new) in kept.into_iter().rev() {
        text.replace_range(usize::from(range.start())..usize::from(range.end()), new);
    }
    text
}

/// The lines that the edits change, `-` as they were and `+` as they are then, without the space that all begin with.
pub(super) fn shown(source: &str, edits: &[Edit]) -> Vec<String> {
    let lines = Lines::of(source);
    let mut spans: Vec<(usize, usize)> = edits
        .iter()
        .map(|(range, _)| (lines.place(range.start().into()).0, lines.place(range.end().into()).0))
        .collect();
    spans.sort_unstable();
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (first, last) in spans {
        match merged.last_mut() {
            Some(span) if first <= span.1 => span.1 = span.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    let mut shown = Vec::new();
    for (first, last) in merged {
        let (start, end) = (lines.start(first), lines.start(last) + lines.text(last).len());
        let within: Vec<Edit> = edits
            .iter()
            .filter(|(range, _)| usize::from(range.start()) >= start && usize::from(range.end()) <= end)
            .map(|(range, new)| {
                let shift = TextSize::try_from(start).unwrap_or_default();
                (TextRange::new(range.start() - shift, range.end() - shift), new.clone())
            })
            .collect();
        let old = &source[start..end];
        let new = applied(old, &within);
        let space = |line: &str| line.len() - line.trim_start().len();
        let indent = old.lines().chain(new.lines()).map(space).min().unwrap_or_default();
        let listed = |mark: &str, text: &str| -> Vec<String> {
            text.lines().map(|line| format!("{mark} {}", line[indent..].trim_end())).collect()
        };
        shown.extend(listed("-", old));
        shown.extend(listed("+", &new));
    }
    shown
}
