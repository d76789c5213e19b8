//! A second try inside the handler of the first: the failed one's frames are still alive there.

use ruff_python_ast::{ExceptHandler, Expr, Stmt, StmtTry};
use ruff_text_size::Ranged;

use super::{Here, callee, calls};
use crate::names::{mention, mentions};
use crate::rule::Rule;

/// The handler of an out-of-memory calls what failed, or the function that it is in.
pub(super) fn in_try<'a>(here: &mut Here<'a, '_>, found: &'a StmtTry) {
    let tried: Vec<&str> = calls(&found.body).into_iter().map(callee).collect();
    let around = here.functions.last().map(|function| function.name.as_str());
    for ExceptHandler::ExceptHandler(handler) in &found.handlers {
        if !is_memory(handler.type_.as_deref(), &handler.body) {
            continue;
        }
        let again = calls(&handler.body).into_iter().find(|call| {
            let name = callee(call);
            let is_work = !name.is_empty() && !is_housekeeping(name);
            is_work && (tried.contains(&name) || Some(name) == around || leads_to(here, name, &tried, 3))
        });
        if let Some(again) = again {
            here.report(
                Rule::Retry,
                again.range(),
                "inside `except` the failed call's frames are alive, with all their tensors: the second try has less memory than the first. Note the failure, leave the `except`, then try again",
            );
        }
    }
}

/// Whether a function of the file calls one of these, itself or through others.
fn leads_to(here: &Here<'_, '_>, name: &str, tried: &[&str], depth: usize) -> bool {
    let mut named = here.outline.functions.iter().filter(|function| function.name() == name);
    depth > 0
        && named.any(|function| {
            calls(function.body).into_iter().map(callee).any(|inner| {
                let is_work = !inner.is_empty() && !is_housekeeping(inner);
                is_work
                    && (tried.contains(&inner) || (inner != name && leads_to(here, inner, tried, depth - 1)))
            })
        })
}

/// What is called to report, to clean up or to look.
fn is_housekeeping(name: &str) -> bool {
    matches!(
        name,
        "print"
            | "str"
            | "len"
            | "format"
            | "empty_cache"
            | "collect"
            | "append"
            | "warn"
            | "warning"
            | "info"
            | "error"
            | "exception"
            | "debug"
            | "isinstance"
            | "type"
            | "repr"
            | "int"
            | "float"
            | "get"
            | "items"
            | "keys"
            | "max"
            | "min"
            | "range"
            | "zero_grad"
            | "join"
            | "open"
            | "exists"
            | "write"
            | "log"
            | "lower"
            | "exit"
            | "synchronize"
            | "memory_allocated"
            | "item"
            | "pop"
            | "set"
            | "list"
            | "dict"
            | "tuple"
            | "to"
            | "cuda"
            | "device"
    )
}

/// Whether a handler is about memory: by the type, or by what it asks of the text.
fn is_memory(kind: Option<&Expr>, body: &[Stmt]) -> bool {
    let named = kind.is_some_and(|kind| {
        mentions(kind, &|each| match each {
            Expr::Name(name) => name.id.as_str().contains("OutOfMemory"),
            Expr::Attribute(attribute) => attribute.attr.as_str().contains("OutOfMemory"),
            _ => false,
        })
    });
    named
        || mention(body, &|each| {
            each.as_string_literal_expr().is_some_and(|text| text.value.to_str().contains("out of memory"))
        })
}
