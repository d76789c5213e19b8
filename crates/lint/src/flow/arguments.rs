//! What arguments say by how they are written.

use ruff_python_ast::{Expr, ExprCall};

use crate::names::last;
use crate::value::Facts;

/// What a function of NumPy gives: 64 bits where nothing else is said.
pub(super) fn numbers(call: &ExprCall, full: &str) -> Facts {
    let makes = full.contains(".random.")
        || matches!(
            last(full),
            "zeros" | "ones" | "linspace" | "full" | "empty" | "meshgrid" | "sin" | "cos"
        );
    let is_whole = matches!(
        last(full),
        "randint" | "default_rng" | "seed" | "choice" | "permutation" | "shuffle" | "integers"
    );
    let has_type = call.arguments.find_keyword("dtype").is_some();
    if makes && !is_whole && !has_type { Facts::DOUBLE } else { Facts::NONE }
}

/// Whether an expression is the host as a device.
pub(super) fn is_host(expr: &Expr) -> bool {
    match expr {
        Expr::StringLiteral(text) => text.value.to_str().starts_with("cpu"),
        Expr::Call(call) => call.arguments.args.first().is_some_and(is_host),
        _ => false,
    }
}

pub(super) fn is_none(expr: &Expr) -> bool {
    match expr {
        Expr::NoneLiteral(_) => true,
        Expr::If(found) => match crate::live::known(&found.test) {
            Some(true) => is_none(&found.body),
            Some(false) => is_none(&found.orelse),
            None => false,
        },
        Expr::NumberLiteral(number) => number.value.as_int().is_some_and(|value| *value == 0),
        _ => false,
    }
}

/// Whether a full name is a type of numbers.
pub(super) fn is_type(full: &str) -> bool {
    let name = last(full);
    name.starts_with("float")
        || name.starts_with("bfloat")
        || name.starts_with("int")
        || matches!(name, "half" | "double" | "long" | "uint8" | "bool" | "dtype" | "complex64")
}

/// Whether a new tensor has only a few numbers, by what is written.
pub(super) fn is_small(call: &ExprCall, name: &str) -> bool {
    let is_one = |expr: &Expr| match expr {
        Expr::NumberLiteral(number) => {
            number.value.as_int().is_some_and(|value| value.as_u64().is_some_and(|value| value <= 64))
        }
        Expr::Tuple(tuple) => tuple.elts.is_empty(),
        Expr::List(list) => list.elts.is_empty(),
        _ => false,
    };
    match name {
        "tensor" | "as_tensor" => call.arguments.args.first().is_some_and(|first| {
            first.is_number_literal_expr() || first.is_list_expr() || first.is_unary_op_expr()
        }),
        "arange" | "randperm" | "linspace" | "randint" => true,
        "load" => false,
        _ => {
            !call.arguments.args.is_empty()
                && call.arguments.args.iter().all(is_one)
                && !name.ends_with("_like")
        }
    }
}
