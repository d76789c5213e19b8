//! Statements, in order.

use ruff_python_ast::{ExceptHandler, Expr, Stmt, StmtFunctionDef};

use super::frame::{Frame, Local, Loop};
use super::gradients::gradients_by;
use super::loops::is_short;
use super::{Flow, library};
use crate::live;
use crate::names::mentions;
use crate::value::{Facts, Value};

impl<'a> Flow<'a> {
    pub(super) fn body(&mut self, frame: &mut Frame<'a>, body: &'a [Stmt]) {
        for stmt in body {
            if frame.ended {
                return;
            }
            self.statement(frame, stmt);
        }
    }

    fn statement(&mut self, frame: &mut Frame<'a>, stmt: &'a Stmt) {
        match stmt {
            Stmt::Expr(found) => {
                if let Some(on) = gradients_by(self.names, &found.value) {
                    frame.gradients = on;
                }
                self.value(frame, &found.value);
            }
            Stmt::Assign(found) => {
                if let Some((targets, values)) = pairs(found) {
                    let values: Vec<_> = values.iter().map(|each| (*each, self.value(frame, each))).collect();
                    for (target, (expr, value)) in targets.iter().zip(values) {
                        self.accumulates(frame, target, expr, value);
                        self.assign(frame, target, value);
                    }
                    return;
                }
                let value = self.value(frame, &found.value);
                for target in &found.targets {
                    self.accumulates(frame, target, &found.value, value);
                    self.keeps_weights(frame, target, &found.value, value);
                    self.assign(frame, target, value);
                }
            }
            Stmt::AnnAssign(found) => {
                if let Some(value) = &found.value {
                    let value = self.value(frame, value);
                    self.assign(frame, &found.target, value);
                }
            }
            Stmt::AugAssign(found) => self.augmented(frame, found),
            Stmt::Return(found) => {
                if let Some(value) = &found.value {
                    let value = self.value(frame, value);
                    self.returned(frame, value);
                }
                frame.ended = true;
            }
            Stmt::If(found) => {
                let branches = live::branches(found);
                for test in &branches.tests {
                    self.value(frame, test);
                }
                let before = frame.clone();
                let mut met = branches.may_skip.then(|| before.clone());
                for body in branches.bodies {
                    let mut way = before.clone();
                    self.body(&mut way, body);
                    match &mut met {
                        Some(met) => met.meet(way),
                        None => met = Some(way),
                    }
                }
                *frame = met.unwrap_or(before);
            }
            Stmt::For(found) => {
                let over = self.value(frame, &found.iter);
                let over_parts = self.is_over_parts(&found.iter, over);
                // A function that yields trains between its rounds.
                let by_iter =
                    found.iter.as_call_expr().is_some_and(|call| self.trains_when_called(&call.func));
                let has_backward = by_iter || self.has_backward(&found.body);
                let is_short = is_short(&found.iter);
                let around = Loop {
                    body: &found.body,
                    target: Some(&found.target),
                    over_parts,
                    has_backward,
                    is_short,
                    over: Some(&found.iter),
                    asks: !over_parts && self.asks_in(frame, &found.body),
                };
                self.repeated(frame, around, over);
                self.freezes(frame, found);
                self.body(frame, &found.orelse);
            }
            Stmt::While(found) => {
                self.value(frame, &found.test);
                let has_backward = self.has_backward(&found.body);
                let around = Loop {
                    body: &found.body,
                    target: None,
                    over_parts: false,
                    has_backward,
                    is_short: false,
                    over: None,
                    asks: self.asks_in(frame, &found.body),
                };
                self.repeated(frame, around, Value::default());
                self.body(frame, &found.orelse);
            }
            Stmt::With(found) => {
                let before = frame.gradients;
                for item in &found.items {
                    let value = self.value(frame, &item.context_expr);
                    if let Some(target) = &item.optional_vars {
                        self.assign(frame, target, value);
                    }
                    if let Some(on) = gradients_by(self.names, &item.context_expr) {
                        frame.gradients = on;
                    } else if value.has(Facts::NO_GRAPH) {
                        frame.gradients = false;
                    }
                }
                self.body(frame, &found.body);
                frame.gradients = before;
            }
            Stmt::Try(found) => {
                let before = frame.clone();
                self.body(frame, &found.body);
                let mut met = frame.clone();
                self.body(&mut met, &found.orelse);
                for ExceptHandler::ExceptHandler(handler) in &found.handlers {
                    let mut way = before.clone();
                    way.locals.clone_from(&frame.locals);
                    if let Some(name) = &handler.name {
                        let is_memory = handler.type_.as_deref().is_some_and(|kind| {
                            mentions(kind, &|each| {
                                each.as_attribute_expr()
                                    .is_some_and(|each| each.attr.as_str() == "OutOfMemoryError")
                            })
                        });
                        let tensors = if is_memory { Facts::GPU } else { Facts::NONE };
                        way.set(name.as_str(), Value::of(Facts::ERROR | tensors));
                    }
                    self.body(&mut way, &handler.body);
                    met.meet(way);
                }
                *frame = met;
                self.body(frame, &found.finalbody);
            }
            Stmt::Delete(found) => {
                for target in &found.targets {
                    if let Expr::Name(name) = target {
                        frame.locals.remove(name.id.as_str());
                    }
                }
            }
            Stmt::Raise(_) | Stmt::Continue(_) | Stmt::Break(_) => frame.ended = true,
            Stmt::FunctionDef(def) => {
                // What it is decorated with may keep it.
                if let Some(&id) = self.outline.function_of.get(&def.range.start().to_u32()) {
                    frame.set(def.name.as_str(), Value { function: Some(id), ..Value::default() });
                }
            }
            Stmt::ClassDef(_) => {}
            Stmt::Match(found) => {
                self.value(frame, &found.subject);
                let before = frame.clone();
                for case in &found.cases {
                    let mut way = before.clone();
                    self.body(&mut way, &case.body);
                    frame.meet(way);
                }
            }
            _ => {}
        }
    }

    pub(super) fn parameters(&mut self, frame: &mut Frame<'a>, def: &'a StmtFunctionDef) {
        let id = frame.function;
        let is_method = self.outline.functions[id].class.is_some();
        let all =
            def.parameters.iter_non_variadic_params().map(|each| (&each.parameter, each.default.as_deref()));
        let variadic = [def.parameters.vararg.as_deref(), def.parameters.kwarg.as_deref()];
        let all: Vec<_> = all.chain(variadic.into_iter().flatten().map(|each| (each, None))).collect();
        for (position, (parameter, default)) in all.into_iter().enumerate() {
            let name = parameter.name.as_str();
            if is_method && position == 0 && name == "self" {
                continue;
            }
            let mut value = self.summaries[id].parameters.get(name).copied().unwrap_or_default();
            value.facts = value.facts.without(Facts::OWN);
            let annotation = parameter.annotation.as_deref().and_then(|each| self.names.full(each));
            let is_annotated =
                annotation.is_some_and(|full| full.ends_with("Module") || full.ends_with("PreTrainedModel"));
            if !self.summaries[id].called && (library::is_named_like_a_model(name) || is_annotated) {
                value.facts |= Facts::MODULE;
            }
            if self.summaries[id].is_hook && position + 1 < def.parameters.len().max(2) + 1 && position > 0 {
                value.facts |= super::OUTPUT | Facts::GPU | Facts::GRAPH;
            }
            // Activations, as a model gets them.
            let function = &self.outline.functions[id];
            let is_forward = function.name() == "forward"
                && function.class.is_some_and(|class| self.outline.is_module(class));
            if is_forward && !self.summaries[id].called && frame.gradients {
                value.facts |= super::OUTPUT | Facts::GPU | Facts::GRAPH;
            }
            // A default is made once, for all calls.
            let is_kept = default.is_some_and(|default| {
                default.is_list_expr() || default.is_dict_expr() || default.is_set_expr()
            });
            if is_kept {
                value.facts |= Facts::CONTAINER;
                value.home = Some(crate::value::Home::Outer(name));
            }
            frame.locals.insert(name, Local { value, depth: 0, is_parameter: true });
            frame.all.insert(name, value);
        }
    }

    pub(super) fn returned(&mut self, frame: &Frame<'a>, value: Value<'a>) {
        let summary = &mut self.summaries[frame.function];
        let after = summary.result.or(Value { home: None, ..value });
        if after != summary.result {
            summary.result = after;
            self.changed = true;
        }
    }

    pub(super) fn assign(&mut self, frame: &mut Frame<'a>, target: &'a Expr, value: Value<'a>) {
        match target {
            Expr::Name(name) => frame.set(name.id.as_str(), value),
            Expr::Tuple(tuple) => self.unpacked(frame, &tuple.elts, value),
            Expr::List(list) => self.unpacked(frame, &list.elts, value),
            Expr::Starred(starred) => self.assign(frame, &starred.value, value),
            Expr::Attribute(attribute) => {
                let own = self.own_class(frame, &attribute.value);
                let of = if own.is_some() { Value::default() } else { self.value(frame, &attribute.value) };
                if let Some(class) = own.or(of.class) {
                    self.keep_attribute(class, attribute.attr.as_str(), value);
                }
                // What is taken off an object is no longer held by it.
                if let Expr::Name(name) = &*attribute.value
                    && value.facts.without(Facts::ABSENT) == Facts::NONE
                    && value.class.is_none()
                    && let Some(local) = frame.locals.get_mut(name.id.as_str())
                {
                    local.value.facts = Facts::NONE;
                }
            }
            Expr::Subscript(subscript) => self.stored(frame, subscript, value),
            _ => {}
        }
    }

    fn unpacked(&mut self, frame: &mut Frame<'a>, targets: &'a [Expr], value: Value<'a>) {
        let facts = value.facts.without(Facts::CONTAINER);
        for target in targets {
            self.assign(frame, target, Value { facts, class: None, function: None, home: None });
        }
    }
}

/// `a, b = x, y`, one by one; and what `accelerator.prepare` gives is what it is given.
fn pairs(stmt: &ruff_python_ast::StmtAssign) -> Option<(&[Expr], Vec<&Expr>)> {
    let [Expr::Tuple(targets)] = &stmt.targets[..] else { return None };
    let values: Vec<&Expr> = match &*stmt.value {
        Expr::Tuple(values) => values.elts.iter().collect(),
        Expr::Call(call)
            if call.func.as_attribute_expr().is_some_and(|each| each.attr.as_str() == "prepare") =>
        {
            call.arguments.args.iter().collect()
        }
        _ => return None,
    };
    let is_plain = values.len() == targets.elts.len() && !targets.elts.iter().any(Expr::is_starred_expr);
    is_plain.then_some((&targets.elts[..], values))
}
