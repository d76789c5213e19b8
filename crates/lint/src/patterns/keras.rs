//! Keras models that are built in a loop.

use ruff_python_ast::{Expr, Stmt};

use super::{Here, callee, calls};
use crate::rule::Rule;

/// Every model stays in Keras' global state until `clear_session()`.
pub(super) fn in_loop<'a>(here: &mut Here<'a, '_>, body: &'a [Stmt]) {
    if !here.names.has("keras") && !here.names.has("tensorflow") {
        return;
    }
    let found = calls(body);
    if found.iter().any(|call| callee(call) == "clear_session") {
        return;
    }
    let builds = |name: &str| {
        here.outline.functions.iter().any(|function| {
            function.name() == name
                && calls(function.body)
                    .iter()
                    .any(|call| is_model(here.names.full(&call.func).unwrap_or_default().as_str()))
                && !calls(function.body).iter().any(|call| callee(call) == "clear_session")
        })
    };
    let made = found.iter().find(|call| {
        let full = here.names.full(&call.func).unwrap_or_default();
        let by_function = matches!(&*call.func, Expr::Name(name) if builds(name.id.as_str()));
        is_model(&full) || by_function
    });
    let range = made.map(ruff_text_size::Ranged::range);
    // An inner loop has said it.
    let is_inner = range.is_some_and(|range| {
        body.iter().any(|stmt| match stmt {
            Stmt::For(found) => found.range.contains_range(range),
            Stmt::While(found) => found.range.contains_range(range),
            _ => false,
        })
    });
    if let Some(range) = range
        && !is_inner
    {
        here.report(
            Rule::KerasModels,
            range,
            "Keras keeps every model that is built in the loop. Call `keras.backend.clear_session()` before the next one",
        );
    }
}

fn is_model(full: &str) -> bool {
    (full.contains("keras") || full.starts_with("tensorflow."))
        && (full.ends_with(".Sequential") || full.ends_with(".Model") || full.contains(".applications."))
}
