//! Calls of functions that libraries have.

use ruff_python_ast::ExprCall;

use super::Flow;
use super::arguments::{is_host, is_none, is_small, numbers};
use super::frame::{Frame, Given, facts};
use super::library::{self, Known};
use crate::names::last;
use crate::value::{Facts, Value};

impl<'a> Flow<'a> {
    /// A function of a library is called, or one that nothing is known of.
    pub(super) fn known(
        &mut self,
        frame: &mut Frame<'a>,
        call: &'a ExprCall,
        full: &str,
        given: &Given<'a>,
    ) -> Value<'a> {
        let all = facts(given);
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
                return Value {
                    facts: all | weights,
                    class: given.first().and_then(|(_, first)| first.class),
                    ..Value::default()
                };
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
}
