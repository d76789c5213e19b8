//! Calls: of functions of the file, of models, and of what libraries give.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;

use super::frame::{Frame, Given, facts};
use super::{Flow, OUTPUT, library};
use crate::rule::Rule;
use crate::value::{Facts, Value};

impl<'a> Flow<'a> {
    pub(super) fn call(&mut self, frame: &mut Frame<'a>, call: &'a ExprCall) -> Value<'a> {
        let mut given = Vec::new();
        for each in &call.arguments.args {
            given.push((None, self.value(frame, each)));
        }
        for each in &call.arguments.keywords {
            given.push((
                each.arg.as_ref().map(ruff_python_ast::Identifier::as_str),
                self.value(frame, &each.value),
            ));
        }
        if super::gradients::gradients_by_call(self.names, call) == Some(false) {
            return Value::of(Facts::NO_GRAPH);
        }
        // `torch.no_grad()(function)`.
        if super::gradients::gradients_by(self.names, &call.func) == Some(false) {
            return self.without_graphs(&given);
        }
        if let Expr::Attribute(method) = &*call.func {
            let name = method.attr.as_str();
            // What it is called on is looked at once: chains are long.
            let own = self.own_class(frame, &method.value);
            let of = match own {
                Some(class) => Value {
                    class: Some(class),
                    ..Value::of(if self.outline.is_module(class) { Facts::MODULE } else { Facts::NONE })
                },
                None => self.value(frame, &method.value),
            };
            if let Some(value) = self.method(frame, call, &method.value, name, &given, (own, of)) {
                return value;
            }
            let callee =
                self.attribute_of(&call.func, own, if own.is_some() { Value::default() } else { of });
            return self.called(frame, call, callee, &given);
        }
        let callee = self.value(frame, &call.func);
        self.called(frame, call, callee, &given)
    }

    fn without_graphs(&mut self, given: &Given<'a>) -> Value<'a> {
        let Some((_, value)) = given.first() else { return Value::default() };
        if let Some(function) = value.function
            && !self.summaries[function].is_off
        {
            self.summaries[function].is_off = true;
            self.changed = true;
        }
        *value
    }

    /// A value is called.
    pub(super) fn called(
        &mut self,
        frame: &mut Frame<'a>,
        call: &'a ExprCall,
        callee: Value<'a>,
        given: &Given<'a>,
    ) -> Value<'a> {
        let all = facts(given);
        if let Some(function) = callee.function {
            let result = self.called_function(frame, function, given);
            self.asked_by(frame, call, all.has(Facts::MODULE), result);
            return result;
        }
        if callee.has(Facts::CYCLE) && all.has(Facts::LOADER) {
            self.report(Rule::Cycle, call.range(), "`itertools.cycle` keeps every batch that the loader gives, to give it again. Write a loop: `while True: yield from loader`".to_owned());
        }
        if callee.has(Facts::LOSS) {
            let graph = if frame.gradients { all.only(Facts::GRAPH.and(Facts::OWN)) } else { Facts::NONE };
            return Value::of(Facts::TENSOR | graph | all.only(Facts::GPU));
        }
        if callee.class.is_some_and(|class| !self.outline.is_module(class)) {
            let method = callee.class.and_then(|class| self.outline.method(class, "__call__"));
            return method.map_or_else(Value::default, |method| self.called_function(frame, method, given));
        }
        if callee.has(Facts::MODULE) {
            return self.called_module(frame, call, callee, given);
        }
        let own = self.own_class(frame, &call.func);
        if own.is_some_and(|class| self.outline.is_module(class)) {
            let model = Value { class: own, ..Value::of(Facts::MODULE) };
            return self.called_module(frame, call, model, given);
        }
        let Some(full) = self.names.full(&call.func) else { return Value::default() };
        if let Some(&class) = self.outline.class_named.get(full.as_str()) {
            return self.made(frame, class, given);
        }
        self.known(frame, call, &full, given)
    }

    /// An instance of a class of the file is made.
    fn made(&mut self, frame: &mut Frame<'a>, class: usize, given: &Given<'a>) -> Value<'a> {
        if let Some(init) = self.outline.method(class, "__init__") {
            self.called_function(frame, init, given);
        }
        if !frame.is_repeated() && self.long_lived.insert(class) {
            self.changed = true;
        }
        let facts = if self.outline.is_module(class) {
            Facts::MODULE
        } else {
            // It holds what it is given and what it makes for itself.
            let own = self.attributes.iter().filter(|((of, _), _)| *of == class);
            let held = own.fold(Facts::NONE, |all, (_, value)| all | value.facts);
            let is_record = self.outline.method(class, "__init__").is_none();
            (held | if is_record { facts(given) } else { Facts::NONE })
                .without(Facts::CONTAINER.and(Facts::LOADER).and(Facts::BOUNDED))
        };
        Value { facts, class: Some(class), ..Value::default() }
    }

    /// A function of the file is called.
    pub(super) fn called_function(
        &mut self,
        frame: &mut Frame<'a>,
        id: usize,
        given: &Given<'a>,
    ) -> Value<'a> {
        let function = &self.outline.functions[id];
        let Some(def) = function.def else { return Value::default() };
        let is_static = function.decorators.iter().any(|each| each == "staticmethod");
        let skip = usize::from(function.class.is_some() && !is_static);
        let names: Vec<&'a str> = def
            .parameters
            .iter_non_variadic_params()
            .map(|each| each.parameter.name.as_str())
            .skip(skip)
            .collect();
        let rest = def.parameters.vararg.as_ref().map(|each| each.name.as_str());
        let more = def.parameters.kwarg.as_ref().map(|each| each.name.as_str());
        let repeats = frame.is_repeated();
        let is_outside = !self.is_in_model(frame.function);
        let steps = frame.is_in_steps();
        let by_init = self.outline.functions[frame.function].name() == "__init__";
        let around = frame.function != 0 && self.trains[frame.function];
        let trains = frame.gradients
            && self.summaries[id].result.has(Facts::GRAPH)
            && (frame.loops.iter().any(|each| each.has_backward)
                || self.summaries[frame.function].trained
                || around);
        let summary = &mut self.summaries[id];
        let before = summary.calls();
        summary.called = true;
        summary.repeats |= repeats;
        summary.gradients |= frame.gradients;
        summary.steps |= steps;
        summary.by_init |= by_init;
        summary.is_outside |= is_outside;
        summary.trained |= trains;
        let mut changed = summary.calls() != before;
        let mut graph = Facts::NONE;
        for (position, (keyword, value)) in given.iter().enumerate() {
            graph |= value.facts.only(Facts::GRAPH);
            let by_name = keyword.map(|keyword| names.iter().copied().find(|name| *name == keyword).or(more));
            let Some(name) = by_name.unwrap_or_else(|| names.get(position).copied().or(rest)) else {
                continue;
            };
            let before = summary.parameters.get(name).copied().unwrap_or_default();
            let home = value.home.filter(|_| value.has(Facts::CONTAINER));
            let after = before.or(Value { home, facts: value.facts.without(Facts::OWN), ..*value });
            if after != before {
                summary.parameters.insert(name, after);
                changed = true;
            }
        }
        self.changed |= changed;
        let result = self.summaries[id].result;
        let has_graph =
            frame.gradients && (result.has(Facts::OWN) || (result.has(Facts::GRAPH) && graph != Facts::NONE));
        let mut facts = result.facts.without(Facts::GRAPH.and(Facts::OWN));
        if has_graph {
            facts |= Facts::GRAPH | Facts::OWN;
        }
        if function.yields {
            facts |= Facts::GENERATOR;
        }
        if has_graph && result.has(Facts::OWN) {
            facts |= Facts::OUTPUT;
        }
        Value { facts, home: None, ..result }
    }

    pub(super) fn called_module(
        &mut self,
        frame: &mut Frame<'a>,
        call: &'a ExprCall,
        callee: Value<'a>,
        given: &Given<'a>,
    ) -> Value<'a> {
        let forward = callee.class.and_then(|class| self.outline.method(class, "forward"));
        let inner = forward.map(|forward| self.called_function(frame, forward, given));
        let all = facts(given);
        let makes_graph = frame.gradients && (!callee.has(Facts::FROZEN) || all.has(Facts::GRAPH));
        let mut facts = match inner {
            Some(inner) => inner.facts | Facts::TENSOR,
            None if library::is_named_like_a_loss(&self.names.full(&call.func).unwrap_or_default()) => {
                Facts::TENSOR
            }
            None => OUTPUT,
        };
        facts = facts.without(Facts::GRAPH.and(Facts::OWN));
        let forgets = inner
            .is_some_and(|inner| frame.gradients && inner.facts != Facts::NONE && !inner.has(Facts::GRAPH));
        if makes_graph && !forgets {
            facts |= Facts::GRAPH | Facts::OWN;
        }
        if self.has_gpu && !callee.has(Facts::HOST) {
            facts |= Facts::GPU;
        }
        facts |= Facts::OUTPUT;
        self.asked(frame, call, callee, all);
        Value { facts, class: inner.and_then(|inner| inner.class), ..Value::default() }
    }
}
