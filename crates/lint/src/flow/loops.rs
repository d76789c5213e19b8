//! Loops: what goes through them, and what a round leaves to the next.

use ruff_python_ast::{Expr, Stmt};

use super::frame::{Frame, Loop};
use super::{Flow, reaches};
use crate::live;
use crate::names::mentions;
use crate::patterns::{callee, calls};
use crate::value::{Facts, Value};

impl<'a> Flow<'a> {
    /// Whether a loop runs a backward pass, itself or in a function of this file that it calls.
    pub(super) fn has_backward(&self, body: &'a [Stmt]) -> bool {
        calls(body)
            .into_iter()
            .any(|call| reaches::is_backward(&call.func) || self.trains_by_name(callee(call)))
    }

    pub(super) fn trains_when_called(&self, callee: &Expr) -> bool {
        let Expr::Name(name) = callee else { return false };
        self.trains_by_name(name.id.as_str())
    }

    /// Whether a function of this name runs a backward pass.
    pub(super) fn trains_by_name(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|named| named.iter().any(|&id| self.trains[id]))
    }

    pub(super) fn repeated(&mut self, frame: &mut Frame<'a>, around: Loop<'a>, over: Value<'a>) {
        let before = frame.clone();
        frame.loops.push(around);
        // Twice: what one round leaves, the next one finds.
        for _ in 0..2 {
            if let (Some(target), Some(iter)) = (around.target, around.over) {
                self.assign_items(frame, target, iter, over);
            }
            self.body(frame, around.body);
            frame.ended = false;
            let round = frame.clone();
            *frame = before.clone();
            frame.loops.push(around);
            frame.meet(round);
        }
        frame.loops.pop();
    }

    /// What a loop's targets are in each round.
    pub(super) fn assign_items(
        &mut self,
        frame: &mut Frame<'a>,
        target: &'a Expr,
        iter: &'a Expr,
        over: Value<'a>,
    ) {
        if let (Expr::Tuple(targets), Expr::Call(call)) = (target, iter) {
            let name = callee(call);
            let args = &call.arguments.args;
            if matches!(name, "enumerate" | "items" | "named_parameters" | "named_modules")
                && targets.elts.len() == 2
            {
                self.assign(frame, &targets.elts[0], Value::default());
                if name == "enumerate"
                    && let Some(inner) = args.first()
                {
                    let over = self.value(frame, inner);
                    self.assign_items(frame, &targets.elts[1], inner, over);
                } else {
                    self.assign(frame, &targets.elts[1], over.item());
                }
                return;
            }
            if name == "zip" && targets.elts.len() == args.len() {
                for (target, each) in targets.elts.iter().zip(args) {
                    let over = self.value(frame, each);
                    self.assign_items(frame, target, each, over);
                }
                return;
            }
        }
        self.assign(frame, target, over.item());
    }

    /// `for p in model.parameters(): p.requires_grad = False` freezes the model.
    pub(super) fn freezes(&mut self, frame: &mut Frame<'a>, found: &'a ruff_python_ast::StmtFor) {
        let Expr::Call(call) = &*found.iter else { return };
        let Expr::Attribute(method) = &*call.func else { return };
        if !matches!(method.attr.as_str(), "parameters" | "named_parameters") {
            return;
        }
        let is_off = found.body.iter().any(|stmt| match stmt {
            Stmt::Assign(assign) => {
                live::known(&assign.value) == Some(false)
                    && assign.targets.iter().any(|target| {
                        target.as_attribute_expr().is_some_and(|each| each.attr.as_str() == "requires_grad")
                    })
            }
            Stmt::Expr(expr) => expr.value.as_call_expr().is_some_and(|call| {
                call.func.as_attribute_expr().is_some_and(|each| each.attr.as_str() == "requires_grad_")
                    && call.arguments.args.first().and_then(live::known) == Some(false)
            }),
            _ => false,
        });
        if is_off {
            let value = self.value(frame, &method.value);
            let value = Value { facts: value.facts | Facts::FROZEN, ..value };
            self.assign_back(frame, &method.value, value);
        }
    }

    /// Whether a loop goes through the parts of a model.
    pub(super) fn is_over_parts(&self, iter: &Expr, over: Value<'a>) -> bool {
        const PARTS: [&str; 18] = [
            "layer",
            "block",
            "module",
            "param",
            "conv",
            "head",
            "level",
            "stage",
            "expert",
            "weight",
            "children",
            "submodule",
            "tower",
            "scale",
            "anchor",
            "optimizer",
            "state_dict",
            "grads",
        ];
        if over.facts.any(Facts::MODULE.and(Facts::PARAMETERS).and(Facts::WEIGHTS)) {
            return true;
        }
        mentions(iter, &|each| {
            let name = match each {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => return false,
            };
            let name = name.to_ascii_lowercase();
            PARTS.iter().any(|part| name.contains(part))
        })
    }
}

/// Whether a loop has a handful of rounds, by what is written: `range(4)`.
pub(super) fn is_short(iter: &Expr) -> bool {
    let is_few = |expr: &Expr| {
        expr.as_number_literal_expr()
            .and_then(|number| number.value.as_int())
            .and_then(ruff_python_ast::Int::as_u64)
            .is_some_and(|value| value <= 8)
    };
    match iter {
        Expr::Call(call) => {
            call.func.as_name_expr().is_some_and(|name| name.id.as_str() == "range")
                && call.arguments.args.iter().all(is_few)
        }
        Expr::Tuple(tuple) => tuple.elts.len() <= 8,
        Expr::List(list) => list.elts.len() <= 8,
        _ => false,
    }
}
