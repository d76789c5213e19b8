//! Pinned memory just over a power of two: PyTorch takes the next one.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;

use super::Here;
use crate::live;
use crate::names::last;
use crate::rule::Rule;

/// Less than this is not worth a word.
const LEAST: u64 = 64 << 20;

/// `torch.empty(n, pin_memory=True)` with a size that can be read.
pub(super) fn call<'a>(here: &mut Here<'a, '_>, call: &'a ExprCall) {
    let full = here.names.full(&call.func).unwrap_or_default();
    let is_pinned =
        call.arguments.find_keyword("pin_memory").is_some_and(|each| live::known(&each.value) == Some(true));
    if !is_pinned || !full.starts_with("torch.") {
        return;
    }
    let sizes: Option<Vec<u64>> = match call.arguments.args.first() {
        Some(Expr::Tuple(tuple)) => tuple.elts.iter().map(number).collect(),
        Some(Expr::List(list)) => list.elts.iter().map(number).collect(),
        _ => call.arguments.args.iter().map(number).collect(),
    };
    let Some(bytes) = sizes.and_then(|sizes| sizes.into_iter().try_fold(width(here, call), u64::checked_mul))
    else {
        return;
    };
    let taken = bytes.checked_next_power_of_two().unwrap_or(bytes);
    if bytes >= LEAST && taken - bytes > taken / 4 {
        let mib = |bytes: u64| bytes >> 20;
        here.report(
            Rule::Pinned,
            call.range(),
            format!(
                "PyTorch takes the next power of two for pinned memory: {} MiB of the host for {} MiB. Take a power of two, or several of them",
                mib(taken),
                mib(bytes)
            ),
        );
    }
}

/// A size that is written out: numbers, and products, powers and shifts of them.
fn number(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::NumberLiteral(number) => number.value.as_int()?.as_u64(),
        Expr::BinOp(op) => {
            let (left, right) = (number(&op.left)?, number(&op.right)?);
            match op.op {
                ruff_python_ast::Operator::Mult => left.checked_mul(right),
                ruff_python_ast::Operator::Add => left.checked_add(right),
                ruff_python_ast::Operator::Pow => left.checked_pow(u32::try_from(right).ok()?),
                ruff_python_ast::Operator::LShift => left.checked_shl(u32::try_from(right).ok()?),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Bytes of one number.
fn width(here: &Here<'_, '_>, call: &ExprCall) -> u64 {
    let kind = call
        .arguments
        .find_keyword("dtype")
        .and_then(|each| here.names.full(&each.value))
        .unwrap_or_default();
    match last(&kind) {
        "float16" | "half" | "bfloat16" | "int16" => 2,
        "float64" | "double" | "int64" | "long" => 8,
        "uint8" | "int8" | "bool" => 1,
        _ => 4,
    }
}
