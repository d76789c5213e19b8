//! Models that are asked with gradients on although nobody needs them, and hooks.

use ruff_python_ast::{ExprCall, Stmt};
use ruff_text_size::Ranged;

use super::frame::{Frame, Given};
use super::{Flow, library};
use crate::names::mention;
use crate::patterns;
use crate::rule::Rule;
use crate::value::{Facts, Value};

/// Words in the names of functions that only look at a model; and those that such a name begins with.
const LOOKS: [&str; 12] = [
    "eval",
    "evaluate",
    "evaluation",
    "validate",
    "validation",
    "valid",
    "predict",
    "prediction",
    "inference",
    "infer",
    "accuracy",
    "benchmark",
];
const BEGINS: [&str; 12] = [
    "embed", "extract", "render", "sample", "generate", "score", "rank", "test", "collect", "rollout",
    "encode", "val",
];
/// Parts of the names of functions that train.
const TRAINS: [&str; 8] = ["train", "loss", "forward", "step", "fit", "update", "backward", "optimi"];

impl<'a> Flow<'a> {
    /// A model is called.
    pub(super) fn asked(
        &mut self,
        frame: &mut Frame<'a>,
        call: &'a ExprCall,
        callee: Value<'a>,
        given: Facts,
    ) {
        if !self.reports || !frame.gradients || callee.has(Facts::LOSS) || !self.has_gpu {
            return;
        }
        let called = patterns::callee(call);
        if called.is_empty() {
            return;
        }
        let function = &self.outline.functions[frame.function];
        let name = function.name().trim_start_matches('_').to_ascii_lowercase();
        let trains = self.has_backward(function.body);
        let is_reference = library::is_named_like_a_reference(called);
        if is_reference
            && !self.is_in_model(frame.function)
            && !callee.has(Facts::FROZEN)
            && !given.has(Facts::GRAPH)
            && (frame.is_repeated() || trains)
        {
            if !self.detaches_at_once(function.body, call) {
                self.report(Rule::SecondModel, call.range(), format!(
                    "`{called}` is only asked, but its graph is kept until backward. Call it under `torch.no_grad()`"
                ));
            }
            return;
        }
        if callee.has(Facts::FROZEN) && !given.has(Facts::GRAPH) {
            return;
        }
        let in_model = self.is_in_model(frame.function);
        let around = frame.loops.iter().rev().find(|each| !each.over_parts);
        let trains_here = around.is_some_and(|each| each.has_backward) || (around.is_none() && trains);
        let mut words = name.split('_');
        let looks = words.clone().any(|word| LOOKS.contains(&word))
            || words.next().is_some_and(|word| BEGINS.contains(&word));
        let looks = looks && !TRAINS.iter().any(|part| name.contains(part));
        if in_model
            || trains_here
            || self.summaries[frame.function].trained
            || !(callee.has(Facts::EVAL) || looks)
            || !frame.is_repeated()
        {
            return;
        }
        if callee.has(Facts::EVAL) && !looks && around.is_none() && !frame.repeats {
            return;
        }
        self.report(Rule::Evaluation, call.range(), format!(
            "`{called}` keeps a graph here for gradients that nobody takes. Put the evaluation under `torch.inference_mode()` or `torch.no_grad()`; `eval()` alone does not do it"
        ));
    }

    /// A function of the file is called that asks a model.
    pub(super) fn asked_by(
        &mut self,
        frame: &mut Frame<'a>,
        call: &'a ExprCall,
        has_model: bool,
        result: Value<'a>,
    ) {
        if result.has(Facts::OWN.and(Facts::TENSOR)) && !frame.loops.is_empty() && has_model {
            self.asked(frame, call, Value::of(Facts::MODULE), Facts::NONE);
        }
    }

    /// Whether the result is detached on the spot.
    fn detaches_at_once(&self, body: &'a [Stmt], call: &ExprCall) -> bool {
        mention(body, &|each| {
            each.as_attribute_expr().is_some_and(|method| {
                method.attr.as_str() == "detach" && method.value.range().contains_range(call.range())
            })
        })
    }

    /// A hook is registered.
    pub(super) fn hooked(&mut self, frame: &mut Frame<'a>, call: &'a ExprCall, given: &Given<'a>) {
        for (_, value) in given {
            if let Some(function) = value.function {
                let mut targets = vec![function];
                // A function that gives the hook.
                if let Some(inner) = self.summaries[function].result.function {
                    targets.push(inner);
                }
                for target in targets {
                    let summary = &mut self.summaries[target];
                    if !summary.is_hook {
                        (summary.is_hook, summary.repeats, summary.called, summary.gradients) =
                            (true, true, true, true);
                        self.changed = true;
                    }
                }
            }
        }
        if !self.reports || !frame.is_in_steps() || frame.is_hook {
            return;
        }
        let is_removed = self.outline.called_bare.contains("remove") && self.is_remove_reached();
        if !is_removed {
            self.report(Rule::Hooks, call.range(), "one more hook is registered every time, and none is removed: each keeps what it refers to. Keep the handle and call its `.remove()`".to_owned());
        }
    }

    /// Whether a handle is removed by code that runs: a method of this file only counts where somebody calls it.
    fn is_remove_reached(&mut self) -> bool {
        if let Some(known) = self.removes {
            return known;
        }
        let found = self.outline.functions.iter().enumerate().any(|(id, function)| {
            let removes =
                patterns::calls(function.body).into_iter().any(|call| patterns::callee(call) == "remove");
            let is_closed_by = |name: &str| matches!(name, "__exit__" | "__del__" | "close");
            removes
                && (function.class.is_none() || self.summaries[id].called || is_closed_by(function.name()))
        });
        self.removes = Some(found);
        found
    }
}
