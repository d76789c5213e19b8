//! The value that a place puts away: in a list, a dictionary, an attribute or a sum.

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{Expr, ExprName, Stmt};

use super::edits::{Edit, wrapped};
use super::spot::{NO_CHANGE, Spot};
use crate::patterns::callee;

/// The value that is put away at a place.
pub(super) fn value<'a>(spot: &Spot<'a>) -> Option<&'a Expr> {
    let expr = spot.expr();
    if let Some(Expr::Call(call)) = expr {
        let puts = ["append", "appendleft", "add", "insert", "extend", "update", "put", "setdefault"];
        if call.func.is_attribute_expr() && puts.contains(&callee(call)) {
            return call.arguments.args.last();
        }
    }
    match spot.stmts.last()? {
        Stmt::Assign(found) if expr.is_none_or(|expr| found.targets.iter().any(|each| each == expr)) => {
            Some(&found.value)
        }
        Stmt::AnnAssign(found) if expr.is_none_or(|expr| &*found.target == expr) => found.value.as_deref(),
        Stmt::AugAssign(found) if expr.is_none_or(|expr| &*found.target == expr) => Some(&found.value),
        _ => expr,
    }
}

/// The value, given through a function.
pub(super) fn through(spot: &Spot<'_>, function: &str) -> Result<Vec<Edit>, &'static str> {
    Ok(wrapped(value(spot).ok_or(NO_CHANGE)?, function))
}

/// An exception in the value, as its text.
pub(super) fn as_text(spot: &Spot<'_>) -> Result<Vec<Edit>, &'static str> {
    struct Search<'s> {
        name: &'s str,
        found: Vec<Edit>,
    }
    impl<'a> Visitor<'a> for Search<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Name(ExprName { id, .. }) if id.as_str() == self.name => {
                    self.found.extend(wrapped(expr, "str"));
                }
                _ => walk_expr(self, expr),
            }
        }
    }
    let name = spot.handlers.iter().rev().find_map(|(_, handler)| handler.name.as_ref()).ok_or(NO_CHANGE)?;
    let mut search = Search { name: name.as_str(), found: Vec::new() };
    search.visit_expr(value(spot).ok_or(NO_CHANGE)?);
    if search.found.is_empty() { Err(NO_CHANGE) } else { Ok(search.found) }
}
