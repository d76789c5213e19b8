//! Methods: of containers, models, tensors.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;

use super::arguments::{is_host, is_type};
use super::frame::{Frame, Given, facts};
use super::{Flow, OUTPUT, library};
use crate::rule::Rule;
use crate::value::{Facts, Value};

/// Methods that put something into a container, and which of their arguments is put there.
const PUTS: [(&str, usize); 9] = [
    ("append", 0),
    ("appendleft", 0),
    ("extend", 0),
    ("add", 0),
    ("insert", 1),
    ("put", 0),
    ("put_nowait", 0),
    ("update", 0),
    ("add_module", 1),
];

impl<'a> Flow<'a> {
    /// A method is called; `None` where it is like any other value that is called.
    pub(super) fn method(
        &mut self,
        frame: &mut Frame<'a>,
        call: &'a ExprCall,
        receiver: &'a Expr,
        name: &'a str,
        given: &Given<'a>,
        (own, of): (Option<usize>, Value<'a>),
    ) -> Option<Value<'a>> {
        let all = facts(given);
        if let Some(&(_, position)) = PUTS.iter().find(|(put, _)| *put == name) {
            // A method of this name may be another one: of a set, a queue, a dictionary it is known.
            let is_put = |value: &Value<'_>| match name {
                "update" => value.has(Facts::CONTAINER) && of.has(Facts::CONTAINER),
                "add" | "put" | "put_nowait" | "insert" => {
                    of.has(Facts::CONTAINER) && given.len() == position + 1
                }
                _ => true,
            };
            if let Some((_, value)) = given.get(position).filter(|(_, value)| is_put(value)) {
                let value = if name == "extend" || name == "update" { value.item() } else { *value };
                self.grow(frame, receiver, value, None, call.range());
            }
        }
        if name.contains("register") && name.contains("hook") && !name.contains("comm") {
            self.hooked(frame, call, given);
            return Some(Value::default());
        }
        if name == "setdefault"
            && let [(_, _), (_, value), ..] = given[..]
        {
            self.grow(frame, receiver, value, call.arguments.args.first(), call.range());
        }
        if name == "gather_for_metrics" || name == "gather" && given.len() == 1 {
            return Some(Value::of(all));
        }
        // A function with its own backward pass.
        if name == "apply"
            && let Some(full) = self.names.full(receiver)
            && let Some(forward) = self
                .outline
                .class_named
                .get(full.as_str())
                .and_then(|&class| self.outline.method(class, "forward"))
        {
            let mut given = given.to_vec();
            given.insert(0, (None, Value::default()));
            return Some(self.called_function(frame, forward, &given));
        }
        if name == "submit" || name == "apply_async" {
            if let Some((_, Value { function: Some(function), .. })) = given.first() {
                return Some(self.called_function(frame, *function, &given[1..]));
            }
            if let Some((_, callee)) = given.first().filter(|(_, callee)| callee.has(Facts::MODULE)) {
                return Some(self.called_module(frame, call, *callee, &given[1..]));
            }
            return Some(Value::of(all.without(Facts::CONTAINER)));
        }
        if let Some(method) = of.class.and_then(|class| self.outline.method(class, name)) {
            let result = self.called_function(frame, method, given);
            let has_model = of.has(Facts::MODULE) || all.has(Facts::MODULE);
            self.asked_by(frame, call, has_model, result);
            return Some(result);
        }
        // What is kept as an attribute may be called: a model, a loss.
        if own.is_some() {
            return None;
        }
        if of.has(Facts::MODULE) && !of.has(Facts::TENSOR) {
            return Some(self.module_method(frame, receiver, of, name, call));
        }
        if of.has(Facts::PARAMETERS) && matches!(name, "clone" | "float" | "half" | "double" | "to") {
            return Some(Value::of(Facts::TENSOR | Facts::BULK | Facts::WEIGHTS | Facts::GPU));
        }
        if of.facts.any(Facts::TENSOR.and(Facts::PARAMETERS).and(Facts::WEIGHTS)) {
            if library::is_number(name) {
                return Some(Value::default());
            }
            let mut facts = match name {
                "to" | "cuda" => self.moved(call, of.facts, name),
                // A dictionary or list of tensors.
                "keys" => Facts::NONE,
                "items" | "values" | "pop" | "get" | "copy" | "state_dict" => of.facts,
                "requires_grad_" if call.arguments.is_empty() => of.facts | Facts::PARAMETERS,
                _ => {
                    let made = library::method(name, of.facts, !call.arguments.is_empty());
                    let keeps = made.has(Facts::BULK) || !of.has(Facts::BULK);
                    made | if keeps {
                        of.facts.only(Facts::PARAMETERS.and(Facts::WEIGHTS))
                    } else {
                        Facts::NONE
                    }
                }
            };
            if name == "cpu" || facts.has(Facts::HOST) {
                facts = facts.without(Facts::WEIGHTS.and(Facts::GPU).and(Facts::PARAMETERS));
            }
            if !frame.gradients && !of.has(Facts::CONTAINER) {
                facts = facts.without(Facts::GRAPH.and(Facts::OWN));
            }
            if frame.gradients
                && all.has(Facts::GRAPH)
                && !matches!(name, "item" | "tolist" | "detach" | "append" | "size")
            {
                facts |= all.only(Facts::GRAPH.and(Facts::OWN));
            }
            return Some(Value { facts, class: None, function: None, home: None });
        }
        if of.has(Facts::CONTAINER) {
            return Some(Value { home: None, ..of });
        }
        // An array of NumPy, or what makes one.
        if name == "astype" {
            return Some(Value::of(
                given.first().map_or(Facts::NONE, |(_, kind)| kind.facts.only(Facts::DOUBLE)),
            ));
        }
        if matches!(name, "uniform" | "normal" | "standard_normal" | "random")
            && call.arguments.find_keyword("size").is_some()
        {
            return Some(Value::of(Facts::DOUBLE));
        }
        if of.has(Facts::OPTIMIZER) {
            let facts = if name == "state_dict" { Facts::PARAMETERS | Facts::CONTAINER } else { Facts::NONE };
            return Some(Value::of(facts));
        }
        if of.has(Facts::ERROR) {
            return Some(if name == "with_traceback" { of } else { Value::default() });
        }
        None
    }

    pub(super) fn module_method(
        &mut self,
        frame: &mut Frame<'a>,
        receiver: &'a Expr,
        of: Value<'a>,
        name: &str,
        call: &'a ExprCall,
    ) -> Value<'a> {
        let first = call.arguments.args.first();
        let change = match name {
            "eval" => Facts::EVAL,
            "requires_grad_" if first.and_then(crate::live::known) == Some(false) => Facts::FROZEN,
            "to" if first.is_some_and(is_host) => Facts::HOST,
            "cpu" => Facts::HOST,
            _ => Facts::NONE,
        };
        match name {
            "eval" | "train" | "requires_grad_" | "to" | "cuda" | "cpu" | "half" | "float" | "bfloat16"
            | "double" | "apply" | "compile" | "share_memory" => {
                let mut value = Value { facts: of.facts | change, home: None, ..of };
                if name == "train" && first.and_then(crate::live::known) != Some(false) {
                    value.facts = value.facts.without(Facts::EVAL);
                }
                if name == "cuda" || (name == "to" && self.is_gpu(call)) {
                    value.facts = value.facts.without(Facts::HOST) | Facts::GPU;
                }
                if !matches!(name, "half" | "float") {
                    self.assign_back(frame, receiver, value);
                }
                value
            }
            "state_dict" => Value::of(Facts::PARAMETERS | Facts::CONTAINER),
            "parameters" | "named_parameters" | "buffers" => Value::of(Facts::PARAMETERS),
            "modules" | "named_modules" | "children" | "named_children" => Value::of(Facts::MODULE),
            "generate" | "sample" => Value::of(Facts::TENSOR | Facts::GPU),
            "append" | "load_state_dict" | "zero_grad" | "train_on_batch" | "fit" | "compile_model" => {
                Value::default()
            }
            // A model's own method that gives something: most likely a pass through it.
            "encode" | "decode" | "features" | "forward_features" | "get_text_features"
            | "get_image_features" | "embed" | "forward" | "encode_image" | "encode_text" => {
                let graph = if frame.gradients { Facts::GRAPH | Facts::OWN } else { Facts::NONE };
                self.asked(frame, call, of, Facts::NONE);
                Value::of(OUTPUT | graph | if self.has_gpu { Facts::GPU } else { Facts::NONE })
            }
            _ => Value::default(),
        }
    }

    /// A method that changes its object: the place has the change, too.
    pub(super) fn assign_back(&mut self, frame: &mut Frame<'a>, receiver: &'a Expr, value: Value<'a>) {
        match receiver {
            Expr::Name(name) => {
                if let Some(local) = frame.locals.get_mut(name.id.as_str()) {
                    local.value.facts = value.facts;
                }
            }
            Expr::Attribute(attribute) => {
                if let Some(class) = self.own_class(frame, &attribute.value)
                    && value.has(Facts::FROZEN)
                {
                    self.keep_attribute(class, attribute.attr.as_str(), value);
                }
            }
            _ => {}
        }
    }

    pub(super) fn is_gpu(&self, call: &'a ExprCall) -> bool {
        call.arguments
            .args
            .first()
            .and_then(Expr::as_string_literal_expr)
            .is_some_and(|text| text.value.to_str().starts_with("cuda"))
    }

    /// A tensor goes to a device, or to a type.
    pub(super) fn moved(&mut self, call: &'a ExprCall, facts: Facts, name: &str) -> Facts {
        let has_type = call.arguments.find_keyword("dtype").is_some()
            || call
                .arguments
                .args
                .iter()
                .any(|each| self.names.full(each).is_some_and(|full| is_type(&full)));
        if facts.has(Facts::DOUBLE) && !has_type {
            self.report(Rule::Double, call.range(), "these numbers come from NumPy with 64 bits each: twice the memory, and slow on most GPUs. Make them float32: `.float()`".to_owned());
        }
        let device =
            call.arguments.find_keyword("device").map(|each| &each.value).or(call.arguments.args.first());
        match device {
            _ if name == "cuda" => (facts | Facts::GPU).without(Facts::HOST),
            Some(device) if is_host(device) => facts.without(Facts::GPU) | Facts::HOST,
            Some(device) if self.names.full(device).is_some_and(|full| is_type(&full)) => {
                facts.without(Facts::DOUBLE)
            }
            Some(_) if call.arguments.find_keyword("dtype").is_some() && call.arguments.args.is_empty() => {
                if call.arguments.find_keyword("device").is_some() {
                    facts | Facts::GPU
                } else {
                    facts
                }
            }
            Some(_) => (facts | Facts::GPU).without(Facts::HOST),
            None => facts,
        }
    }
}
