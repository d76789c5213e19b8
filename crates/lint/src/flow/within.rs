//! What statements do to a name.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprAttribute, Stmt};

use crate::live;
use crate::names::{mentions, mentions_place, root};
use crate::patterns::callee;

/// Whether a loop goes through the parts of one tensor.
pub(super) fn is_split(iter: &Expr) -> bool {
    mentions(iter, &|each| {
        each.as_call_expr()
            .is_some_and(|call| matches!(callee(call), "split" | "chunk" | "tensor_split" | "unbind"))
    })
}

/// Whether a round hands something on to the next: `h = cell(x, h)`.
pub(super) fn carries_a_state(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| {
        stmt.as_assign_stmt().is_some_and(|found| {
            found.value.is_call_expr()
                && found.targets.iter().any(|target| match target {
                    Expr::Tuple(tuple) => tuple.elts.iter().any(|each| mentions_place(&found.value, each)),
                    _ => mentions_place(&found.value, target),
                })
        })
    })
}

/// Whether statements empty a container, or make it anew.
pub(super) fn empties(body: &[Stmt], name: &str) -> bool {
    let in_stmt = |stmt: &Stmt| match stmt {
        Stmt::Assign(found) => found.targets.iter().any(|target| {
            target.is_name_expr() && root(target) == Some(name) && !mentions_place(&found.value, target)
        }),
        Stmt::Delete(found) => found.targets.iter().any(|target| root(target) == Some(name)),
        _ => false,
    };
    const TAKES: [&str; 7] = ["pop", "popleft", "clear", "remove", "popitem", "get", "get_nowait"];
    any(body, &in_stmt, &|method| TAKES.contains(&method.attr.as_str()) && root(&method.value) == Some(name))
}

/// Whether statements take a local off its graph.
pub(super) fn detaches(body: &[Stmt], name: &str) -> bool {
    // Something else than a pass that takes it: detached, begun again, cut by a function of its own.
    const CUTS: [&str; 5] = ["detach", "repackage", "reset", "init", "zero"];
    let is_cut = |each: &Expr| {
        each.as_call_expr().is_some_and(|call| CUTS.iter().any(|part| callee(call).contains(part)))
    };
    let is_it = |each: &Expr| each.as_name_expr().is_some_and(|each| each.id.as_str() == name);
    let in_stmt = |stmt: &Stmt| {
        stmt.as_assign_stmt().is_some_and(|found| {
            found.targets.iter().any(|target| mentions(target, &is_it))
                && (mentions(&found.value, &is_cut) || found.value.is_none_literal_expr())
        })
    };
    any(body, &in_stmt, &|method| method.attr.as_str() == "detach_" && root(&method.value) == Some(name))
}

/// Whether one of the statements that may run, or one of the methods that they call, is what is wanted.
fn any(body: &[Stmt], in_stmt: &dyn Fn(&Stmt) -> bool, in_method: &dyn Fn(&ExprAttribute) -> bool) -> bool {
    struct Search<'s> {
        in_stmt: &'s dyn Fn(&Stmt) -> bool,
        in_method: &'s dyn Fn(&ExprAttribute) -> bool,
        found: bool,
    }
    impl<'a> Visitor<'a> for Search<'_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::If(found) => live::branches(found).bodies.iter().for_each(|body| self.visit_body(body)),
                _ => {
                    self.found |= (self.in_stmt)(stmt);
                    walk_stmt(self, stmt);
                }
            }
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            let method = expr.as_call_expr().and_then(|call| call.func.as_attribute_expr());
            self.found |= method.is_some_and(self.in_method);
            walk_expr(self, expr);
        }
    }
    let mut search = Search { in_stmt, in_method, found: false };
    search.visit_body(body);
    search.found
}
