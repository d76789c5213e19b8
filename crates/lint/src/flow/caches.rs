//! Caches without a limit, and checkpoints beside a model: two copies where one would do.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;

use super::frame::Frame;
use super::{Flow, arguments};
use crate::names::{last, mentions};
use crate::rule::Rule;
use crate::value::{Facts, Value};

impl<'a> Flow<'a> {
    /// A cache without a limit around a function that gives tensors.
    pub(super) fn remembers(&mut self, id: usize) {
        let function = &self.outline.functions[id];
        let Some(def) = function.def.filter(|_| self.reports) else { return };
        let result = self.summaries[id].result.facts;
        if !result.has(Facts::TENSOR.and(Facts::BULK)) && !result.has(Facts::MODULE) {
            return;
        }
        for decorator in &def.decorator_list {
            let (callee, call) = match &decorator.expression {
                Expr::Call(call) => (&*call.func, Some(call)),
                other => (other, None),
            };
            let Some(full) = self.names.full(callee) else { continue };
            let is_endless = match last(&full) {
                "cache" => full == "functools.cache",
                "lru_cache" => call.is_some_and(|call| {
                    let size = call
                        .arguments
                        .find_keyword("maxsize")
                        .map(|each| &each.value)
                        .or(call.arguments.args.first());
                    size.is_some_and(arguments::is_none)
                }),
                _ => false,
            };
            // A model that is loaded once for each name is what such a cache is for.
            // So is a table for each device and type.
            let is_table = def.parameters.find("device").is_some() || def.parameters.find("dtype").is_some();
            if is_endless && !def.parameters.is_empty() && !result.has(Facts::MODULE) && !is_table {
                self.report(Rule::Cache, decorator.expression.range(), "every tensor that this function ever gave stays in memory. Give the cache a size: `lru_cache(maxsize=32)`".to_owned());
            }
        }
    }

    /// `torch.load` beside a model that has its memory already.
    pub(super) fn loaded(&mut self, frame: &mut Frame<'a>, call: &'a ExprCall, full: &str) {
        if full != "torch.load" || !self.has_gpu || !self.reports {
            return;
        }
        let place = call
            .arguments
            .find_keyword("map_location")
            .map(|each| &each.value)
            .or(call.arguments.args.get(1));
        let is_there = match place {
            None => true,
            Some(place) => self.value(frame, place).has(Facts::GPU),
        };
        let has_model = frame
            .locals
            .values()
            .any(|local| local.value.has(Facts::MODULE) && !local.value.has(Facts::HOST));
        let body = self.outline.functions[frame.function].body;
        let takes_it = crate::patterns::calls(body)
            .into_iter()
            .any(|call| crate::patterns::callee(call) == "load_state_dict");
        if is_there && has_model && takes_it {
            self.report(Rule::Load, call.range(), "the checkpoint comes to the GPU beside the model: twice its weights. `torch.load(path, map_location=\"cpu\")`".to_owned());
        }
    }

    /// One more copy of the weights is kept on the GPU, the last one or the best.
    pub(super) fn keeps_weights(
        &mut self,
        frame: &Frame<'a>,
        target: &'a Expr,
        expr: &'a Expr,
        value: Value<'a>,
    ) {
        let Expr::Attribute(attribute) = target else { return };
        let is_copy = mentions(expr, &|each| {
            each.as_call_expr()
                .is_some_and(|call| matches!(crate::patterns::callee(call), "deepcopy" | "state_dict"))
        });
        if value.has(Facts::WEIGHTS.and(Facts::GPU)) && is_copy && frame.is_repeated() {
            let name = attribute.attr.as_str();
            self.report(
                Rule::ModelsKept,
                target.range(),
                format!("`{name}` is one more copy of the weights on the GPU. Keep it on the host: `.cpu()`"),
            );
        }
    }

    /// `list(loader)`.
    pub(super) fn whole_loader(&mut self, call: &'a ExprCall, full: &str, all: Facts) {
        if full == "list" && all.has(Facts::LOADER) {
            self.report(
                Rule::DataOnGpu,
                call.range(),
                "all batches are held at once. Loop over the loader itself".to_owned(),
            );
        }
    }
}
