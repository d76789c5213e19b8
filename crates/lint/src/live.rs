//! Conditions that are known: `if False:` has a body that never runs.

use ruff_python_ast::{BoolOp, Expr, Stmt, StmtIf, UnaryOp};

/// What a condition is, where that can be read: constants, and `not`, `and`, `or`, `bool()` of them.
pub(crate) fn known(test: &Expr) -> Option<bool> {
    match test {
        Expr::BooleanLiteral(literal) => Some(literal.value),
        Expr::NoneLiteral(_) => Some(false),
        Expr::UnaryOp(unary) if unary.op == UnaryOp::Not => known(&unary.operand).map(|value| !value),
        Expr::BoolOp(bools) => {
            let ends = bools.op == BoolOp::Or;
            let mut all = true;
            for value in &bools.values {
                match known(value) {
                    Some(value) if value == ends => return Some(ends),
                    Some(_) => {}
                    None => all = false,
                }
            }
            all.then_some(!ends)
        }
        Expr::Call(call) if call.func.as_name_expr().is_some_and(|name| name.id.as_str() == "bool") => {
            call.arguments.args.first().and_then(known)
        }
        _ => None,
    }
}

/// The statements of a body that may run: those up to one that surely leaves it.
pub(crate) fn reached(body: &[Stmt]) -> &[Stmt] {
    match body.iter().position(leaves) {
        Some(last) => &body[..=last],
        None => body,
    }
}

fn leaves(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Return(_) | Stmt::Raise(_) | Stmt::Continue(_) | Stmt::Break(_) => true,
        Stmt::If(found) => {
            let branches = branches(found);
            !branches.may_skip && branches.bodies.iter().all(|body| body.iter().any(leaves))
        }
        Stmt::With(found) => found.body.iter().any(leaves),
        _ => false,
    }
}

/// The bodies of an `if` that may run.
pub(crate) fn branches(stmt: &StmtIf) -> Branches<'_> {
    let mut bodies: Vec<&[Stmt]> = Vec::new();
    let mut tests = Vec::new();
    let mut may_skip = true;
    let first = (Some(&*stmt.test), &stmt.body[..]);
    let rest = stmt.elif_else_clauses.iter().map(|clause| (clause.test.as_ref(), &clause.body[..]));
    for (test, body) in std::iter::once(first).chain(rest) {
        let known = test.map_or(Some(true), known);
        if known != Some(false) {
            bodies.push(body);
            if let Some(test) = test {
                tests.push(test);
            }
        }
        if known == Some(true) {
            may_skip = false;
            break;
        }
    }
    Branches { bodies, tests, may_skip }
}

/// See [`branches`].
pub(crate) struct Branches<'a> {
    pub(crate) bodies: Vec<&'a [Stmt]>,
    pub(crate) tests: Vec<&'a Expr>,
    /// Whether none of them may run.
    pub(crate) may_skip: bool,
}
