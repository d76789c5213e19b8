//! Calls that speak for themselves.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{Ranged, TextRange};

use super::{Here, callee, calls};
use crate::finding::Fix;
use crate::live;
use crate::names::{mention, root};
use crate::rule::Rule;

pub(super) fn call<'a>(here: &mut Here<'a, '_>, call: &'a ExprCall) {
    let full = here.names.full(&call.func).unwrap_or_default();
    match callee(call) {
        "empty_cache"
            if full.contains("cuda") && !here.loops.is_empty() && !here.in_handler && !tries_again(here) =>
        {
            here.report(
                Rule::EmptyCache,
                call.range(),
                "this gives the cache back to the driver in every round, and PyTorch asks for it again: slower, and no memory is won for your own tensors. Leave it out",
            );
        }
        "zero_grad" => zero_grad(here, call),
        "disable" if full == "gc.disable" => collector(here, call),
        "float" => {
            logits(here, call);
            copies(here, call);
        }
        "clone" | "cuda" | "to" | "half" | "bfloat16" | "double" => copies(here, call),
        _ => {}
    }
}

/// Whether a loop goes on after a failure: there the cache may be in the way.
fn tries_again(here: &Here<'_, '_>) -> bool {
    here.loops.iter().any(|body| body.iter().any(ruff_python_ast::Stmt::is_try_stmt))
}

fn zero_grad<'a>(here: &mut Here<'a, '_>, call: &'a ExprCall) {
    let keyword = call.arguments.find_keyword("set_to_none");
    let Some(keyword) = keyword.filter(|each| live::known(&each.value) == Some(false)) else { return };
    let fix = Fix { edits: vec![(keyword.value.range(), "True".to_owned())] };
    here.report_fixed(
        Rule::ZeroedGradients,
        call.range(),
        "gradients filled with zeros stay in memory from step to step. Leave `set_to_none=False` out",
        Some(fix),
    );
}

fn collector<'a>(here: &mut Here<'a, '_>, call: &'a ExprCall) {
    let collects = |body| {
        calls(body).into_iter().any(|call| {
            matches!(here.names.full(&call.func).as_deref(), Some("gc.collect" | "gc.enable" | "gc.freeze"))
        })
    };
    if !here.outline.functions.iter().any(|function| collects(function.body)) {
        here.report(
            Rule::CollectorOff,
            call.range(),
            "without the collector, objects that refer to each other are never freed, nor are their tensors. Call `gc.collect()` now and then",
        );
    }
}

/// `logits.float()`, whole.
fn logits<'a>(here: &mut Here<'a, '_>, call: &'a ExprCall) {
    let Expr::Attribute(method) = &*call.func else { return };
    if !call.arguments.is_empty() || !here.has_gpu {
        return;
    }
    let name = match &*method.value {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Call(inner) => callee(inner),
        _ => return,
    };
    let is_head = matches!(name, "lm_head" | "vocab_head" | "unembed" | "to_logits" | "output_projection");
    let is_logits = matches!(name, "logits" | "lm_logits" | "shift_logits" | "token_logits") || is_head;
    // A part of them at a time is the cure.
    let in_part = here.functions.iter().any(|function| function.name.as_str().contains("chunk"))
        || !here.loops.is_empty() && is_head;
    if !is_logits || in_part {
        return;
    }
    let around = calls(here.body());
    let has_loss = around
        .iter()
        .any(|call| matches!(callee(call), "cross_entropy" | "CrossEntropyLoss" | "nll_loss" | "loss_fct"));
    let is_given =
        around.iter().any(|each| each.arguments.args.iter().any(|each| each.range() == call.range()));
    if has_loss && !is_given && !is_in_lambda(here, call) {
        here.report(
            Rule::LogitsInFloat,
            call.range(),
            "a second copy of all logits, in float32: often the largest tensor of the step. Take the loss in parts of the batch",
        );
    }
}

/// Whether a place is inside a lambda: it is called for parts.
fn is_in_lambda(here: &Here<'_, '_>, call: &ExprCall) -> bool {
    mention(here.body(), &|each| each.is_lambda_expr() && each.range().contains_range(call.range()))
}

/// A copy of what is a copy already.
fn copies<'a>(here: &mut Here<'a, '_>, call: &'a ExprCall) {
    let Expr::Attribute(method) = &*call.func else { return };
    let Expr::Call(inner) = &*method.value else { return };
    let Expr::Attribute(before) = &*inner.func else { return };
    if root(&before.value).is_none() {
        return;
    }
    let dot = TextRange::new(inner.range().end(), call.range().end());
    let says = |what: &str| format!("{what} Leave the second one out");
    match (before.attr.as_str(), method.attr.as_str()) {
        ("clone", "clone") => {
            here.report_fixed(
                Rule::Copies,
                call.range(),
                says("A copy of a copy: both are in memory for a while."),
                Some(Fix { edits: vec![(dot, String::new())] }),
            );
        }
        ("cuda", "cuda") if call.arguments.is_empty() && inner.arguments.is_empty() => {
            here.report_fixed(
                Rule::Copies,
                call.range(),
                says("It is on the GPU already."),
                Some(Fix { edits: vec![(dot, String::new())] }),
            );
        }
        ("clone", "to") | ("to", "clone") if moves(inner) || moves(call) => {
            here.report(Rule::Copies, call.range(), says("`.to(…)` copies to another device or type by itself: here both copies are in memory for a while."));
        }
        ("clone", "float" | "half" | "bfloat16" | "double") => {
            here.report(Rule::Copies, call.range(), "a change of type copies by itself: here both copies are in memory for a while. Leave the `.clone()` out");
        }
        _ => {}
    }
}

/// Whether `.to(…)` goes to a device that is named.
fn moves(call: &ExprCall) -> bool {
    callee(call) == "to"
        && call
            .arguments
            .args
            .first()
            .and_then(Expr::as_string_literal_expr)
            .is_some_and(|text| text.value.to_str().starts_with("cuda"))
}
