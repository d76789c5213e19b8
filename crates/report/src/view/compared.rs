//! Two recordings compared, as `oomph diff` does it.

use oomph_diagnose::diff::LineChange;
use oomph_diagnose::results::diff::DiffResult;
use serde_json::{Value, json};

use super::foreign::{bytes, document, text};
use crate::compared::{answer, minds, place, side};

/// What the second needs more than the first, and which lines hold it at the peaks; those that differ most first.
pub fn compared(result: &DiffResult) -> Vec<u8> {
    let found = &result.comparison;
    let mut changes: Vec<&LineChange> = found.lines.iter().collect();
    changes.sort_by_key(|line| {
        let change = line.change();
        std::cmp::Reverse(change.more().max(change.less()))
    });
    let count = |held: &Option<_>| held.as_ref().map_or(0, |held: &oomph_diagnose::diff::Held| held.count);
    let lines = changes.iter().map(|line| {
        let code = line.shown().and_then(|held| held.text.as_deref()).map(text);
        let change = line.change();
        json!({
            "line": text(&place(line.place())), "code": code,
            "a": bytes(change.a), "b": bytes(change.b), "blocks_a": count(&line.a), "blocks_b": count(&line.b),
        })
    });
    document(&json!({
        "answer": text(&answer(found)),
        "a": text(&side(&result.a, &found.a)),
        "b": text(&side(&result.b, &found.b)),
        "lines": lines.collect::<Vec<Value>>(),
        "minds": minds(found).iter().map(|mind| text(mind)).collect::<Vec<Value>>(),
    }))
}
