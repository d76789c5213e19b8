//! Calls: of functions of the file, of models, and of what libraries give.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;

use super::arguments::{is_host, is_none, is_small, numbers};
use super::frame::{Frame, Given};
use super::library::{self, Known};
use super::{Flow, OUTPUT};
use crate::names::last;
use crate::value::{Facts, Value};

impl<'a> Flow<'a> {
    pub(super) fn call(&mut self, frame: &mut Frame<'a>, call: &'a ExprCall) -> Value<'a> {
        let mut given: Given<'a> = Vec::new();
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
        let all = given.iter().fold(Facts::NONE, |all, (_, value)| all | value.facts);
        if let Some(function) = callee.function {
            let result = self.called_function(frame, function, given);
            self.asked_by(frame, call, all.has(Facts::MODULE), result);
            return result;
        }
        if callee.has(Facts::CYCLE) && all.has(Facts::LOADER) {
            self.report(crate::rule::Rule::Cycle, call.range(), "`itertools.cycle` keeps every batch that the loader gives, to give it again. Write a loop: `while True: yield from loader`".to_owned());
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
        if self.own_class(frame, &call.func).is_some_and(|class| self.outline.is_module(class)) {
            return self.called_module(
                frame,
                call,
                Value { class: self.own_class(frame, &call.func), ..Value::of(Facts::MODULE) },
                given,
            );
        }
        let Some(full) = self.names.full(&call.func) else { return Value::default() };
        if let Some(&class) = self.outline.class_named.get(full.as_str()) {
            return self.made(frame, class, given);
        }
        self.known(frame, call, &full, all)
    }

    /// A function of a library is called, or one that nothing is known of.
    fn known(&mut self, frame: &mut Frame<'a>, call: &'a ExprCall, full: &str, all: Facts) -> Value<'a> {
        let tensor = all.only(Facts::OF_TENSOR);
        let graph = if frame.gradients { Facts::NONE } else { Facts::GRAPH.and(Facts::OWN) };
        let facts = match library::known(full) {
            Some(Known::Makes) => {
                self.loaded(frame, call, full);
                let on_gpu =
                    call.arguments.find_keyword("device").is_some_and(|device| !is_host(&device.value));
                let is_small = is_small(call, last(full));
                let gpu = if on_gpu { Facts::GPU } else { tensor.only(Facts::GPU) };
                let leaf = call
                    .arguments
                    .find_keyword("requires_grad")
                    .is_some_and(|each| crate::live::known(&each.value) == Some(true));
                let leaf = if leaf { Facts::PARAMETERS } else { Facts::NONE };
                let has_type = call.arguments.find_keyword("dtype").is_some();
                let double = if has_type { Facts::NONE } else { all.only(Facts::DOUBLE) };
                Facts::TENSOR | gpu | leaf | double | if is_small { Facts::NONE } else { Facts::BULK }
            }
            Some(Known::Combines) => {
                let copies = if all.has(Facts::PARAMETERS) && matches!(last(full), "cat" | "stack") {
                    Facts::WEIGHTS | Facts::TENSOR | Facts::BULK | Facts::GPU
                } else {
                    Facts::NONE
                };
                // Functions of parameters give a graph, too.
                let by_parameters = all.has(Facts::PARAMETERS)
                    && frame.gradients
                    && copies == Facts::NONE
                    && full.contains("functional");
                let made = if by_parameters {
                    Facts::TENSOR | Facts::GRAPH | Facts::OWN | Facts::BULK
                } else {
                    Facts::NONE
                };
                all.without(graph).without(Facts::CONTAINER) | copies | made
            }
            Some(Known::Reduces) => {
                let is_whole = call.arguments.find_keyword("reduction").is_some_and(|each| {
                    each.value.as_string_literal_expr().is_some_and(|text| text.value.to_str() == "none")
                });
                let bulk = if is_whole { Facts::NONE } else { Facts::BULK };
                tensor.without(graph).without(bulk) | Facts::TENSOR
            }
            Some(Known::Indexes) => tensor.without(Facts::GRAPH.and(Facts::OWN).and(Facts::BULK)),
            Some(Known::Contains) => {
                let limit =
                    call.arguments.find_keyword("maxlen").or_else(|| call.arguments.find_keyword("maxsize"));
                let second = call.arguments.args.get(1).filter(|_| last(full) == "deque");
                let first = call.arguments.args.first().filter(|_| last(full).ends_with("Queue"));
                let limit = limit.map(|each| &each.value).or(second).or(first);
                let is_bounded = limit.is_some_and(|limit| !is_none(limit));
                let bounded = if is_bounded { Facts::BOUNDED } else { Facts::NONE };
                self.whole_loader(call, full, all);
                all.without(Facts::LOADER) | Facts::CONTAINER | bounded
            }
            Some(Known::Passes) => {
                let copies = all.any(Facts::PARAMETERS) && last(full) == "deepcopy";
                let weights = if copies { Facts::WEIGHTS | Facts::GPU } else { Facts::NONE };
                return Value { facts: all | weights, class: self.class_of(frame, call), ..Value::default() };
            }
            Some(Known::Builds) => Facts::MODULE,
            Some(Known::BuildsLoss) => Facts::MODULE | Facts::LOSS,
            Some(Known::Optimizes) => Facts::OPTIMIZER | all.only(Facts::MODULE),
            Some(Known::Loads) => Facts::LOADER,
            Some(Known::Takes) => Facts::TENSOR | Facts::BULK | Facts::GPU | Facts::GRADIENT,
            Some(Known::Numbers) => numbers(call, full),
            Some(Known::Nothing) => Facts::NONE,
            None if library::is_named_like_a_loss(last(full)) && tensor.has(Facts::TENSOR) => {
                tensor.without(Facts::BULK).without(graph)
            }
            // A record made on the spot holds what it is made from.
            None if last(full).starts_with(char::is_uppercase) && !full.contains('.') => {
                return Value::of(all.without(Facts::CONTAINER));
            }
            None => Facts::NONE,
        };
        Value::of(facts)
    }

    fn class_of(&mut self, frame: &mut Frame<'a>, call: &'a ExprCall) -> Option<usize> {
        let first = call.arguments.args.first()?;
        self.value(frame, first).class
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
            let own = self.attributes.iter().filter(|((of, _), _)| *of == Some(class));
            let held = own.fold(Facts::NONE, |all, (_, value)| all | value.facts);
            let given = given.iter().fold(Facts::NONE, |all, (_, value)| all | value.facts);
            let is_record = self.outline.method(class, "__init__").is_none();
            (held | if is_record { given } else { Facts::NONE })
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
        let mut changed =
            !summary.called || (repeats && !summary.repeats) || (frame.gradients && !summary.gradients);
        (summary.called, summary.repeats, summary.gradients) =
            (true, summary.repeats | repeats, summary.gradients | frame.gradients);
        summary.trained |= trains;
        changed |= (steps && !summary.steps) || (by_init && !summary.by_init);
        changed |= is_outside && !summary.is_outside;
        summary.is_outside |= is_outside;
        (summary.steps, summary.by_init) = (summary.steps | steps, summary.by_init | by_init);
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
        let all = given.iter().fold(Facts::NONE, |all, (_, value)| all | value.facts);
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
