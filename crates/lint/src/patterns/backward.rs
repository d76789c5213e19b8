//! `retain_graph=True` where nobody goes through the graph again.

use ruff_python_ast::{ExprCall, Stmt};
use ruff_text_size::Ranged;

use super::{Here, callee};
use crate::live;
use crate::rule::Rule;

/// The last backward pass of a loop's round needs no graph afterwards.
pub(super) fn in_loop<'a>(here: &mut Here<'a, '_>, body: &'a [Stmt]) {
    let backwards: Vec<&ExprCall> = super::calls(body)
        .into_iter()
        .filter(|call| {
            (callee(call) == "backward" && call.arguments.args.is_empty())
                || callee(call) == "manual_backward"
        })
        .collect();
    let Some(last) = backwards.last() else { return };
    let retains = |call: &ExprCall| {
        call.arguments.find_keyword("retain_graph").is_some_and(|each| live::known(&each.value) == Some(true))
    };
    // Inner loops speak for themselves.
    let is_inner = body.iter().any(|stmt| match stmt {
        Stmt::For(found) => found.range().contains_range(last.range()),
        Stmt::While(found) => found.range().contains_range(last.range()),
        _ => false,
    });
    // Who cuts a graph by hand knows which part of it is used again.
    let cuts = super::calls(body).into_iter().any(|call| callee(call).starts_with("detach"));
    if retains(last) && !is_inner && (backwards.len() > 1 || !cuts) {
        here.report(
            Rule::RetainGraph,
            last.range(),
            "the graph is kept after the last backward pass through it. Leave `retain_graph=True` out; where several losses share a graph, add them up and call `backward()` once",
        );
    }
}
