//! Everything with everything: differences and products of all pairs, one-hot rows.

use ruff_python_ast::{Expr, ExprBinOp, ExprCall, Operator};
use ruff_text_size::Ranged;

use super::{Here, callee, calls};
use crate::names::{last, same_place};
use crate::rule::Rule;

/// `a[:, None, :] - a[None, :, :]` and `one_hot(tokens) @ table`.
pub(super) fn operation<'a>(here: &mut Here<'a, '_>, op: &'a ExprBinOp) {
    match op.op {
        Operator::Sub => {
            let (Some((left, first)), Some((right, second))) = (spread(&op.left), spread(&op.right)) else {
                return;
            };
            if first != second && first <= 1 && second <= 1 && is_feature(&op.left) && same_place(left, right)
            {
                here.report(
                    Rule::Pairs,
                    op.range(),
                    "the difference of every row with every other, feature by feature, is one huge tensor. `torch.cdist` gives the distances without it",
                );
            }
        }
        Operator::MatMult => {
            if is_one_hot(here, &op.left) {
                here.report(
                    Rule::OneHot,
                    op.range(),
                    "a product with one-hot rows only picks rows. `F.embedding(indices, table)` does it without the rows of zeros",
                );
                return;
            }
            if turned(&op.right).is_some_and(|inner| same_place(inner, &op.left)) && is_search(here) {
                here.report(Rule::Pairs, op.range(), WHOLE);
            }
        }
        _ => {}
    }
}

const WHOLE: &str = "the matrix of every row with every other is held whole, for the few best of each row. Go through the rows in parts: `for part in x.split(1000)`";

/// `torch.cdist(x, x).topk(…)`.
pub(super) fn call<'a>(here: &mut Here<'a, '_>, call: &'a ExprCall) {
    let full = here.names.full(&call.func).unwrap_or_default();
    let args = &call.arguments.args;
    match last(&full) {
        "cdist" if args.len() == 2 && same_place(&args[0], &args[1]) && is_search(here) => {
            here.report(Rule::Pairs, call.range(), WHOLE);
        }
        "matmul" | "mm" if args.first().is_some_and(|first| is_one_hot(here, first)) => {
            here.report(
                Rule::OneHot,
                call.range(),
                "a product with one-hot rows only picks rows. `F.embedding(indices, table)` does it without the rows of zeros",
            );
        }
        _ => {}
    }
}

/// Whether the function around looks for neighbours.
fn is_search(here: &Here<'_, '_>) -> bool {
    calls(here.body()).iter().any(|call| matches!(callee(call), "topk" | "argsort" | "kthvalue"))
}

/// `x.T`, `x.t()`, `x.transpose(0, 1)`.
fn turned(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Attribute(attribute) if matches!(attribute.attr.as_str(), "T" | "mT") => Some(&attribute.value),
        Expr::Call(call) if matches!(callee(call), "t" | "transpose") => {
            call.func.as_attribute_expr().map(|method| &*method.value)
        }
        _ => None,
    }
}

/// What is spread by `x[:, None]`, `x[None]` or `x.unsqueeze(1)`, and along which dimension.
fn spread(expr: &Expr) -> Option<(&Expr, usize)> {
    match expr {
        Expr::Subscript(subscript) => {
            let at = match &*subscript.slice {
                Expr::Tuple(tuple) => tuple.elts.iter().position(Expr::is_none_literal_expr)?,
                Expr::NoneLiteral(_) => 0,
                _ => return None,
            };
            Some((&subscript.value, at))
        }
        Expr::Call(call) if callee(call) == "unsqueeze" => {
            let at = call.arguments.args.first()?.as_number_literal_expr()?.value.as_int()?.as_u64()?;
            Some((&call.func.as_attribute_expr()?.value, usize::try_from(at).ok()?))
        }
        _ => None,
    }
}

/// Whether a spread tensor keeps a dimension of features: `[:, None, :]`, or `unsqueeze`.
fn is_feature(expr: &Expr) -> bool {
    match expr {
        Expr::Subscript(subscript) => {
            subscript.slice.as_tuple_expr().is_none_or(|tuple| tuple.elts.len() != 2)
        }
        _ => true,
    }
}

/// `F.one_hot(x, n).float()`, or a name that holds it.
fn is_one_hot(here: &Here<'_, '_>, expr: &Expr) -> bool {
    let expr = cast(expr);
    let expr = match expr {
        // A name that is made from itself is not followed further.
        Expr::Name(name) => assigned(here.body(), name.id.as_str()).map_or(expr, cast),
        _ => expr,
    };
    expr.as_call_expr().is_some_and(|call| callee(call) == "one_hot")
}

/// What a change of type is made of.
fn cast(expr: &Expr) -> &Expr {
    match expr {
        Expr::Call(call)
            if matches!(callee(call), "float" | "to" | "half" | "bfloat16" | "type" | "type_as") =>
        {
            call.func.as_attribute_expr().map_or(expr, |method| cast(&method.value))
        }
        _ => expr,
    }
}

/// What a name was assigned last in statements, as far as they run for sure or maybe.
pub(super) fn assigned<'a>(body: &'a [ruff_python_ast::Stmt], name: &str) -> Option<&'a Expr> {
    use ruff_python_ast::Stmt;
    let mut found = None;
    for stmt in body {
        match stmt {
            Stmt::Assign(assign)
                if assign
                    .targets
                    .iter()
                    .any(|target| target.as_name_expr().is_some_and(|each| each.id.as_str() == name)) =>
            {
                found = Some(&*assign.value);
            }
            Stmt::If(inner) => {
                for body in crate::live::branches(inner).bodies {
                    found = assigned(body, name).or(found);
                }
            }
            Stmt::For(inner) => found = assigned(&inner.body, name).or(found),
            Stmt::With(inner) => found = assigned(&inner.body, name).or(found),
            _ => {}
        }
    }
    found
}
