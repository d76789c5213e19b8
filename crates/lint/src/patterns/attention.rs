//! Attention written by hand: the matrix of all scores is kept three times.

use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::{Here, callee};
use crate::live;
use crate::names::{last, mentions};
use crate::rule::Rule;

/// `softmax(q @ k.transpose(-2, -1)) @ v`, in one expression or over several names.
pub(super) fn in_function<'a>(here: &mut Here<'a, '_>, def: &'a StmtFunctionDef) {
    let mut steps = Steps { scores: Vec::new(), weights: Vec::new(), found: None };
    read(here, &mut steps, &def.body);
    // Where the weights are given back, or the kernel is a choice, there is a reason for it.
    let has_kernel =
        here.has_attention || returns_any(&def.body, &steps.weights) || def.name.as_str().contains("eager");
    if let Some(range) = steps.found
        && !has_kernel
    {
        here.report(
            Rule::Attention,
            range,
            "the scores of every position with every other are kept several times. `F.scaled_dot_product_attention(q, k, v)` never holds them whole",
        );
    }
}

fn returns_any(body: &[Stmt], names: &[&str]) -> bool {
    live::reached(body).iter().any(|stmt| match stmt {
        Stmt::Return(found) => match found.value.as_deref() {
            Some(Expr::Tuple(tuple)) => {
                tuple.elts.iter().any(|each| each.is_name_expr() && is_made_from(each, names))
            }
            Some(Expr::Name(name)) => names.contains(&name.id.as_str()),
            _ => false,
        },
        // Kept to be looked at.
        Stmt::Assign(found) => {
            let is_kept = found.targets.iter().any(|target| {
                target.is_attribute_expr()
                    || target.as_name_expr().is_some_and(|name| name.id.as_str() == "outputs")
            });
            is_kept && is_made_from(&found.value, names)
        }
        Stmt::Expr(found) => found.value.as_call_expr().is_some_and(|call| {
            callee(call) == "append" && call.arguments.args.iter().any(|each| is_made_from(each, names))
        }),
        Stmt::If(found) => live::branches(found).bodies.into_iter().any(|body| returns_any(body, names)),
        _ => false,
    })
}

/// Names that hold scores, or weights made from them.
struct Steps<'a> {
    scores: Vec<&'a str>,
    weights: Vec<&'a str>,
    found: Option<TextRange>,
}

fn read<'a>(here: &Here<'a, '_>, steps: &mut Steps<'a>, body: &'a [Stmt]) {
    for stmt in body {
        match stmt {
            Stmt::If(found) => {
                live::branches(found).bodies.into_iter().for_each(|body| read(here, steps, body));
            }
            Stmt::For(found) => read(here, steps, &found.body),
            Stmt::With(found) => read(here, steps, &found.body),
            Stmt::Assign(found) => {
                let name = found.targets.first().and_then(Expr::as_name_expr).map(|name| name.id.as_str());
                look(here, steps, &found.value);
                let Some(name) = name else { continue };
                if is_weights(here, steps, &found.value) {
                    steps.weights.push(name);
                } else if is_scores(here, &found.value) || is_made_from(&found.value, &steps.scores) {
                    steps.scores.push(name);
                } else if is_made_from(&found.value, &steps.weights) {
                    steps.weights.push(name);
                }
            }
            Stmt::Return(found) => {
                if let Some(value) = &found.value {
                    look(here, steps, value);
                }
            }
            _ => {}
        }
    }
}

/// The product with the values ends it.
fn look<'a>(here: &Here<'a, '_>, steps: &mut Steps<'a>, expr: &'a Expr) {
    let is_end = |each: &Expr| match each {
        Expr::BinOp(op) if op.op == ruff_python_ast::Operator::MatMult => {
            is_made_from(&op.left, &steps.weights) || is_weights(here, steps, &op.left)
        }
        Expr::Call(call) => {
            let is_product = matches!(callee(call), "matmul" | "bmm" | "einsum");
            let args = call.arguments.args.iter();
            let receiver = call.func.as_attribute_expr().map(|method| &*method.value);
            is_product
                && args.chain(receiver).any(|each| is_made_from(each, &steps.weights) && each.is_name_expr())
        }
        _ => false,
    };
    if steps.found.is_none() && mentions(expr, &is_end) {
        steps.found = Some(expr.range());
    }
}

fn is_made_from(expr: &Expr, names: &[&str]) -> bool {
    mentions(expr, &|each| each.as_name_expr().is_some_and(|name| names.contains(&name.id.as_str())))
}

/// `q @ k.transpose(-2, -1)`, `torch.einsum("bhid,bhjd->bhij", q, k)`.
fn is_scores(here: &Here<'_, '_>, expr: &Expr) -> bool {
    mentions(expr, &|each| match each {
        Expr::BinOp(op) if op.op == ruff_python_ast::Operator::MatMult => is_turned(&op.right),
        Expr::Call(call) => {
            let full = here.names.full(&call.func).unwrap_or_default();
            match last(&full) {
                "matmul" | "bmm" => call.arguments.args.last().is_some_and(is_turned),
                "einsum" => call
                    .arguments
                    .args
                    .first()
                    .and_then(Expr::as_string_literal_expr)
                    .is_some_and(|text| is_pairing(text.value.to_str())),
                _ => callee(call) == "matmul" && call.arguments.args.last().is_some_and(is_turned),
            }
        }
        _ => false,
    })
}

/// Whether an expression turns the last two dimensions: `k.transpose(-2, -1)`, `k.mT`.
fn is_turned(expr: &Expr) -> bool {
    match expr {
        Expr::Attribute(attribute) => attribute.attr.as_str() == "mT",
        Expr::Call(call) if callee(call) == "transpose" => {
            let ends = |expr: &Expr| match expr {
                Expr::UnaryOp(_) => true,
                Expr::NumberLiteral(number) => number
                    .value
                    .as_int()
                    .and_then(ruff_python_ast::Int::as_u64)
                    .is_some_and(|value| value >= 2),
                _ => false,
            };
            call.arguments.args.iter().rev().take(2).filter(|each| ends(each)).count() == 2
        }
        _ => false,
    }
}

/// Whether an einsum pairs every position of one with every position of the other: `bhid,bhjd->bhij`.
fn is_pairing(text: &str) -> bool {
    let Some((inputs, output)) = text.split_once("->") else { return false };
    let Some((one, other)) = inputs.split_once(',') else { return false };
    let only = |of: &str, not: &str| of.trim().chars().filter(|letter| !not.contains(*letter)).count();
    let summed = one.trim().chars().any(|letter| other.contains(letter) && !output.contains(letter));
    only(one, other) == 1 && only(other, one) == 1 && summed && output.trim().len() >= 4
}

/// `softmax` of scores.
fn is_weights(here: &Here<'_, '_>, steps: &Steps<'_>, expr: &Expr) -> bool {
    mentions(expr, &|each| {
        let Some(call) = each.as_call_expr() else { return false };
        if callee(call) != "softmax" {
            return false;
        }
        let receiver = call.func.as_attribute_expr().map(|method| &*method.value);
        let given = call.arguments.args.first().into_iter().chain(receiver);
        given.into_iter().any(|each| is_made_from(each, &steps.scores) || is_scores(here, each))
    })
}
