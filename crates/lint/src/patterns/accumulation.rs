//! Gradients of several batches that are added up, and not divided.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, Operator, Stmt};
use ruff_text_size::Ranged;

use super::{Here, callee, calls};
use crate::live;
use crate::rule::Rule;

/// A loop that steps only in every so many rounds has to divide its losses by that.
pub(super) fn in_function<'a>(here: &mut Here<'a, '_>, body: &'a [Stmt]) {
    for stmt in body {
        let (inner, is_loop) = match stmt {
            Stmt::For(found) => (&found.body[..], true),
            Stmt::While(found) => (&found.body[..], true),
            Stmt::With(found) => (&found.body[..], false),
            Stmt::If(found) => {
                live::branches(found).bodies.into_iter().for_each(|body| in_function(here, body));
                continue;
            }
            _ => continue,
        };
        in_function(here, inner);
        if is_loop && steps_sometimes(inner) {
            // Those that run in every round.
            let always = |stmt: &&Stmt| !stmt.is_if_stmt();
            let backwards: Vec<_> = inner
                .iter()
                .filter(always)
                .flat_map(|stmt| calls(std::slice::from_ref(stmt)))
                .filter(|call| callee(call) == "backward")
                .collect();
            let steps_always = inner
                .iter()
                .filter(always)
                .any(|stmt| calls(std::slice::from_ref(stmt)).iter().any(|call| callee(call) == "step"));
            let [one] = backwards[..] else { continue };
            if steps_always {
                continue;
            }
            // An accelerator divides by itself; a sum over all of a batch needs no division.
            let receiver = one.func.as_attribute_expr().map(|method| &*method.value);
            let by_itself = !one.arguments.args.is_empty();
            if !by_itself && receiver.is_some() && !divides(inner) {
                here.report(
                    Rule::NotScaled,
                    one.range(),
                    "gradients of several batches are added up here: the step is as many times too large. Divide the loss by the number of batches before `backward()`",
                );
            }
        }
    }
}

/// Whether `optimizer.step()` stands under a condition with `%`.
fn steps_sometimes(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::If(found) => {
            let has_rest = crate::names::mentions(&found.test, &|expr| {
                expr.as_bin_op_expr().is_some_and(|op| op.op == Operator::Mod)
            });
            let branches = live::branches(found);
            let inside = branches.bodies.iter().any(|body| {
                let found = calls(body);
                let named = |wanted: &str| found.iter().any(|call| callee(call) == wanted);
                named("step") && named("zero_grad")
            });
            has_rest && inside && live::known(&found.test).is_none()
        }
        Stmt::With(found) => steps_sometimes(&found.body),
        _ => false,
    })
}

/// Whether something is divided, or multiplied by a share, in these statements.
fn divides(body: &[Stmt]) -> bool {
    struct Search(bool);
    impl<'a> Visitor<'a> for Search {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::AugAssign(found) => self.0 |= matches!(found.op, Operator::Div | Operator::Mult),
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
                _ => {}
            }
            walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::BinOp(op) = expr {
                self.0 |= op.op == Operator::Div;
            }
            if let Expr::Call(call) = expr {
                // `scale(loss)`, `loss.div(n)`, a reduction that sums.
                self.0 |= matches!(callee(call), "div" | "div_" | "mul" | "mul_" | "scale" | "true_divide");
            }
            walk_expr(self, expr);
        }
    }
    let mut search = Search(false);
    search.visit_body(body);
    search.0
}
