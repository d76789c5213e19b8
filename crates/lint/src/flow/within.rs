//! What statements do to a name.

use ruff_python_ast::Expr;

use crate::names::{mentions, mentions_place, root};

/// Whether a loop goes through the parts of one tensor.
pub(super) fn is_split(iter: &Expr) -> bool {
    mentions(iter, &|each| {
        each.as_call_expr().is_some_and(|call| {
            matches!(crate::patterns::callee(call), "split" | "chunk" | "tensor_split" | "unbind")
        })
    })
}

/// Whether a round hands something on to the next: `h = cell(x, h)`.
pub(super) fn carries_a_state(body: &[ruff_python_ast::Stmt]) -> bool {
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
pub(super) fn empties(body: &[ruff_python_ast::Stmt], name: &str) -> bool {
    use ruff_python_ast::Stmt;
    use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
    struct Search<'s>(&'s str, bool);
    impl<'a> Visitor<'a> for Search<'_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::If(found) => {
                    crate::live::branches(found).bodies.iter().for_each(|body| self.visit_body(body));
                }
                Stmt::Assign(found) => {
                    self.1 |= found.targets.iter().any(|target| {
                        root(target) == Some(self.0)
                            && !mentions_place(&found.value, target)
                            && (target.is_name_expr())
                    });
                    walk_stmt(self, stmt);
                }
                Stmt::Delete(found) => {
                    self.1 |= found.targets.iter().any(|target| root(target) == Some(self.0));
                }
                _ => walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr
                && let Expr::Attribute(method) = &*call.func
                && root(&method.value) == Some(self.0)
                && matches!(
                    method.attr.as_str(),
                    "pop" | "popleft" | "clear" | "remove" | "popitem" | "get" | "get_nowait"
                )
            {
                self.1 = true;
            }
            walk_expr(self, expr);
        }
    }
    let mut search = Search(name, false);
    search.visit_body(body);
    search.1
}

/// Whether statements take a local off its graph.
pub(super) fn detaches(body: &[ruff_python_ast::Stmt], name: &str) -> bool {
    use ruff_python_ast::Stmt;
    use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
    struct Search<'s>(&'s str, bool);
    impl<'a> Visitor<'a> for Search<'_> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::If(found) => {
                    crate::live::branches(found).bodies.iter().for_each(|body| self.visit_body(body));
                }
                Stmt::Assign(found) => {
                    let is_it = found.targets.iter().any(|target| {
                        mentions(target, &|each| {
                            each.as_name_expr().is_some_and(|each| each.id.as_str() == self.0)
                        })
                    });
                    // Something else than a pass that takes it: detached, begun again, cut by a function of its own.
                    let text = |each: &Expr| {
                        each.as_call_expr().is_some_and(|call| {
                            let name = match &*call.func {
                                Expr::Attribute(method) => method.attr.as_str(),
                                Expr::Name(name) => name.id.as_str(),
                                _ => "",
                            };
                            name.contains("detach")
                                || name.contains("repackage")
                                || name.contains("reset")
                                || name.contains("init")
                                || name.contains("zero")
                        })
                    };
                    self.1 |= is_it && (mentions(&found.value, &text) || found.value.is_none_literal_expr());
                    walk_stmt(self, stmt);
                }
                _ => walk_stmt(self, stmt),
            }
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr
                && let Expr::Attribute(method) = &*call.func
                && method.attr.as_str() == "detach_"
                && root(&method.value) == Some(self.0)
            {
                self.1 = true;
            }
            walk_expr(self, expr);
        }
    }
    let mut search = Search(name, false);
    search.visit_body(body);
    search.1
}
