//! The value of an expression.

use ruff_python_ast::{Comprehension, Expr};

use super::frame::{Frame, Loop};
use super::{Flow, library};
use crate::live;
use crate::names::mentions;
use crate::value::{Facts, Home, Value};

/// Where a value goes on to: only what a container holds counts.
const HELD: Facts = Facts::TENSOR
    .and(Facts::GRAPH)
    .and(Facts::OWN)
    .and(Facts::GPU)
    .and(Facts::BULK)
    .and(Facts::MODULE)
    .and(Facts::OPTIMIZER)
    .and(Facts::WEIGHTS)
    .and(Facts::ERROR)
    .and(Facts::PARAMETERS)
    .and(Facts::GENERATOR)
    .and(Facts::HOST)
    .and(Facts::OUTPUT)
    .and(Facts::GRADIENT);

impl<'a> Flow<'a> {
    pub(super) fn value(&mut self, frame: &mut Frame<'a>, expr: &'a Expr) -> Value<'a> {
        match expr {
            Expr::Name(name) => self.name(frame, name.id.as_str()),
            Expr::Attribute(_) => self.attribute(frame, expr),
            Expr::Call(call) => self.call(frame, call),
            Expr::Subscript(subscript) => {
                let of = self.value(frame, &subscript.value);
                self.value(frame, &subscript.slice);
                // A slice of a container is one; what is taken out of it is not.
                let facts = if subscript.slice.is_slice_expr() {
                    of.facts
                } else {
                    of.facts.without(Facts::CONTAINER)
                };
                Value { facts, home: None, ..of }
            }
            Expr::BinOp(op) => {
                let (left, right) = (self.value(frame, &op.left), self.value(frame, &op.right));
                let both = left.facts | right.facts;
                use ruff_python_ast::Operator::{Div, MatMult, Mult, Pow, Sub};
                let is_arithmetic =
                    matches!(op.op, Sub | Mult | MatMult | Div | Pow) && !both.has(Facts::CONTAINER);
                let made = if both.has(Facts::PARAMETERS) && frame.gradients && is_arithmetic {
                    Facts::TENSOR | Facts::GRAPH | Facts::OWN | Facts::BULK
                } else {
                    Facts::NONE
                };
                let gone = if frame.gradients {
                    Facts::PARAMETERS
                } else {
                    Facts::PARAMETERS.and(Facts::GRAPH).and(Facts::OWN)
                };
                Value::of(both.only(HELD.and(Facts::CONTAINER).and(Facts::DOUBLE)).without(gone) | made)
            }
            Expr::UnaryOp(op) => self.value(frame, &op.operand),
            Expr::BoolOp(bools) => {
                let values = bools.values.iter().map(|each| self.value(frame, each));
                values.fold(Value::default(), Value::or)
            }
            Expr::Compare(compare) => {
                let left = self.value(frame, &compare.left);
                let facts = compare
                    .comparators
                    .iter()
                    .fold(left.facts, |all, each| all | self.value(frame, each).facts);
                Value::of(facts.only(Facts::TENSOR.and(Facts::GPU)))
            }
            Expr::If(found) => match live::known(&found.test) {
                Some(true) => self.value(frame, &found.body),
                Some(false) => self.value(frame, &found.orelse),
                None => {
                    self.value(frame, &found.test);
                    let one = self.value(frame, &found.body);
                    one.or(self.value(frame, &found.orelse))
                }
            },
            Expr::Named(named) => {
                let value = self.value(frame, &named.value);
                if let Expr::Name(name) = &*named.target {
                    frame.set(name.id.as_str(), value);
                }
                value
            }
            Expr::Tuple(tuple) => self.elements(frame, &tuple.elts),
            Expr::List(list) => self.elements(frame, &list.elts),
            Expr::Set(set) => self.elements(frame, &set.elts),
            Expr::Dict(dict) => {
                let mut facts = Facts::CONTAINER;
                for item in &dict.items {
                    facts |= self.value(frame, &item.value).facts.only(HELD);
                }
                Value::of(facts)
            }
            Expr::ListComp(list) => self.comprehension(frame, &list.elt, &list.generators),
            Expr::SetComp(set) => self.comprehension(frame, &set.elt, &set.generators),
            Expr::Generator(found) => self.comprehension(frame, &found.elt, &found.generators),
            Expr::DictComp(dict) => self.comprehension(frame, &dict.value, &dict.generators),
            // A function that is kept keeps what it uses.
            Expr::Lambda(lambda) => {
                let mut inner = frame.clone();
                let bound: Vec<&str> = lambda
                    .parameters
                    .iter()
                    .flat_map(|parameters| parameters.iter_non_variadic_params())
                    .map(|each| each.parameter.name.as_str())
                    .collect();
                let mut facts = Facts::NONE;
                for each in
                    lambda.parameters.iter().flat_map(|parameters| parameters.iter_non_variadic_params())
                {
                    if let Some(default) = &each.default {
                        facts |= self.value(frame, default).facts;
                    }
                }
                bound.iter().for_each(|name| {
                    inner.locals.remove(name);
                });
                for (name, local) in &inner.locals {
                    let uses =
                        |each: &Expr| each.as_name_expr().is_some_and(|each| each.id.as_str() == *name);
                    if mentions(&lambda.body, &uses) {
                        facts |= local.value.facts;
                    }
                }
                Value::of(facts.only(HELD))
            }
            Expr::StringLiteral(text) if text.value.to_str().starts_with("cuda") => Value::of(Facts::GPU),
            Expr::NoneLiteral(_) => Value::of(Facts::ABSENT),
            Expr::Await(found) => self.value(frame, &found.value),
            Expr::Starred(starred) => self.value(frame, &starred.value),
            Expr::Yield(found) => {
                if let Some(value) = &found.value {
                    let value = self.value(frame, value);
                    self.returned(frame, value);
                }
                Value::default()
            }
            Expr::YieldFrom(found) => {
                let value = self.value(frame, &found.value);
                self.returned(frame, value);
                Value::default()
            }
            _ => Value::default(),
        }
    }

    fn elements(&mut self, frame: &mut Frame<'a>, elements: &'a [Expr]) -> Value<'a> {
        let mut facts = Facts::CONTAINER;
        for each in elements {
            facts |= self.value(frame, each).facts.only(HELD);
        }
        Value::of(facts)
    }

    fn comprehension(
        &mut self,
        frame: &mut Frame<'a>,
        element: &'a Expr,
        generators: &'a [Comprehension],
    ) -> Value<'a> {
        let mut inner = frame.clone();
        for each in generators {
            let over = self.value(&mut inner, &each.iter);
            let over_parts = self.is_over_parts(&each.iter, over);
            inner.loops.push(Loop {
                body: &[],
                target: Some(&each.target),
                over_parts,
                has_backward: false,
                is_short: false,
                over: Some(&each.iter),
                asks: false,
            });
            self.assign_items(&mut inner, &each.target, &each.iter, over);
        }
        let value = self.value(&mut inner, element);
        Value::of(value.facts.only(HELD) | Facts::CONTAINER)
    }

    fn name(&mut self, frame: &Frame<'a>, name: &'a str) -> Value<'a> {
        if let Some(local) = frame.locals.get(name) {
            return local.value;
        }
        // An outer function's, then the file's.
        let mut at = frame.function;
        while at != 0 {
            at = self.outline.functions[at].parent;
            if let Some(&function) = self.outline.named.get(&(at, name)) {
                return Value { function: Some(function), ..Value::default() };
            }
            if let Some(&value) = self.summaries[at].locals.get(name) {
                return Value { home: Some(Home::Outer(name)), ..value };
            }
        }
        if let Some(&function) = self.outline.named.get(&(frame.function, name)) {
            return Value { function: Some(function), ..Value::default() };
        }
        Value::default()
    }

    /// The class that `self` is of, inside a method or a function in it.
    pub(super) fn own_class(&self, frame: &Frame<'a>, expr: &Expr) -> Option<usize> {
        if expr.as_name_expr()?.id.as_str() != "self" {
            return None;
        }
        let mut at = frame.function;
        loop {
            if let Some(class) = self.outline.functions[at].class {
                return Some(class);
            }
            if at == 0 {
                return None;
            }
            at = self.outline.functions[at].parent;
        }
    }

    fn attribute(&mut self, frame: &mut Frame<'a>, expr: &'a Expr) -> Value<'a> {
        let Expr::Attribute(attribute) = expr else { return Value::default() };
        let own = self.own_class(frame, &attribute.value);
        let of = if own.is_some() { Value::default() } else { self.value(frame, &attribute.value) };
        self.attribute_of(expr, own, of)
    }

    /// An attribute of a value that is known.
    pub(super) fn attribute_of(&mut self, expr: &'a Expr, own: Option<usize>, of: Value<'a>) -> Value<'a> {
        let Expr::Attribute(attribute) = expr else { return Value::default() };
        let name = attribute.attr.as_str();
        let mut class = own.or(of.class);
        for _ in 0..6 {
            let Some(at) = class else { break };
            if let Some(&found) = self.attributes.get(&(at, name)) {
                return Value { home: Some(Home::Attribute(name)), ..found };
            }
            if let Some(method) = self.outline.method(at, name) {
                return Value { function: Some(method), ..Value::default() };
            }
            let bases = &self.outline.classes[at].bases;
            class =
                bases.iter().find_map(|base| self.outline.class_named.get(crate::names::last(base)).copied());
        }
        if own.is_some() && library::is_named_like_a_model(name) {
            return Value::of(Facts::MODULE);
        }
        if of.facts.any(Facts::TENSOR) || (name == "grad" && of.has(Facts::PARAMETERS)) {
            return Value::of(library::attribute(name, of.facts));
        }
        if matches!(name, "float64" | "double")
            && self.names.full(expr).is_some_and(|full| full.starts_with("numpy."))
        {
            return Value::of(Facts::DOUBLE);
        }
        if name == "cycle" && self.names.full(expr).is_some_and(|full| full == "itertools.cycle") {
            return Value::of(Facts::CYCLE);
        }
        if of.facts.has(Facts::MODULE) {
            return match name {
                "module" | "model" | "base_model" => Value { home: None, ..of },
                "weight" | "bias" => Value::of(Facts::PARAMETERS),
                // A part of a model is one, as far as it is called.
                _ => Value::of(Facts::NONE),
            };
        }
        Value { home: Some(Home::Attribute(name)), ..Value::default() }
    }
}
