//! Whether gradients are on.

use ruff_python_ast::{Expr, ExprCall};

use super::Flow;
use crate::names::{Names, last};
use crate::patterns::callee;

impl Flow<'_> {
    /// Whether gradients are on in a function: as its decorators say, else as it is called.
    pub(super) fn gradients_are_on(&self, id: usize) -> bool {
        let function = &self.outline.functions[id];
        if function.decorators.iter().any(|each| is_no_grad(each)) || self.summaries[id].is_off {
            return false;
        }
        // What has a backward pass of its own is run without a graph.
        let is_own = |class| self.outline.is_a(class, &|base| last(base) == "Function");
        if function.name() == "forward" && function.class.is_some_and(is_own) {
            return false;
        }
        // Frameworks switch gradients off for these.
        let off = ["validation_step", "test_step", "predict_step", "prediction_step", "evaluation_step"];
        if off.contains(&function.name()) || function.name().starts_with("on_validation") {
            return false;
        }
        id == 0
            || !self.summaries[id].called
            || self.summaries[id].gradients
            || self.is_called_by_a_framework(id)
    }
}

/// Whether a full name switches gradients off.
pub(super) fn is_no_grad(full: &str) -> bool {
    matches!(last(full), "no_grad" | "inference_mode") || full.ends_with("_no_grad")
}

/// Whether an expression, as a context or a statement, switches gradients off (`Some(false)`) or on.
pub(super) fn gradients_by(names: &Names<'_>, expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Call(call) => gradients_by_call(names, call),
        Expr::If(found) => match crate::live::known(&found.test) {
            Some(true) => gradients_by(names, &found.body),
            Some(false) => gradients_by(names, &found.orelse),
            // Somebody has thought of it.
            None => gradients_by(names, &found.body).or_else(|| gradients_by(names, &found.orelse)),
        },
        _ => None,
    }
}

/// The same of a call.
pub(super) fn gradients_by_call(names: &Names<'_>, call: &ExprCall) -> Option<bool> {
    let first = call.arguments.args.first();
    match callee(call) {
        "no_grad" => Some(false),
        "inference_mode" => Some(first.and_then(crate::live::known).is_some_and(|on| !on)),
        "set_grad_enabled" => first.and_then(crate::live::known),
        "enable_grad" => Some(true),
        _ => {
            let full = names.full(&call.func)?;
            is_no_grad(&full).then_some(false)
        }
    }
}
