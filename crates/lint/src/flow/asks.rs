//! Whether a loop asks a model.

use ruff_python_ast::Expr;

use super::frame::Frame;
use super::{Flow, reaches, within};
use crate::value::{Facts, Value};

impl<'a> Flow<'a> {
    /// Whether what is kept comes from a loop that asks a model, or may come from one of a caller.
    pub(super) fn asks_in_loop(&self, frame: &Frame<'a>) -> bool {
        let is_called = frame.repeats && self.summaries[frame.function].called;
        frame.is_in_steps() || frame.is_hook || is_called
            // A comprehension asks what it puts together.
            || frame.loops.iter().any(|each| each.body.is_empty())
    }

    /// Whether statements ask a model, themselves or by a function of this file.
    pub(super) fn asks_in(&mut self, frame: &mut Frame<'a>, body: &'a [ruff_python_ast::Stmt]) -> bool {
        let gives = Facts::OWN.and(Facts::OUTPUT).and(Facts::GRADIENT);
        crate::patterns::calls(body).into_iter().any(|call| {
            let callee = match &*call.func {
                Expr::Attribute(method) => {
                    let own = self.own_class(frame, &method.value);
                    let of = match (own, &*method.value) {
                        (Some(_), _) => Value::default(),
                        (None, Expr::Name(_) | Expr::Attribute(_)) => self.value(frame, &method.value),
                        _ => return false,
                    };
                    let of_class =
                        of.class.and_then(|class| self.outline.method(class, method.attr.as_str()));
                    match of_class {
                        Some(function) => Value { function: Some(function), ..Value::default() },
                        None => self.attribute_of(&call.func, own, of),
                    }
                }
                Expr::Name(_) => self.value(frame, &call.func),
                _ => return false,
            };
            let is_given = call
                .arguments
                .args
                .iter()
                .any(|each| each.is_name_expr() && self.value(frame, each).has(Facts::MODULE));
            let is_submitted =
                is_given && matches!(crate::patterns::callee(call), "submit" | "apply_async" | "map");
            callee.has(Facts::MODULE) && !callee.has(Facts::LOSS)
                || is_submitted
                || callee.function.is_some_and(|id| self.summaries[id].result.facts.any(gives))
        })
    }

    /// Whether losses of several passes are kept only to be added up: `torch.stack(losses).mean().backward()`.
    pub(super) fn waits_for_all(&mut self, frame: &mut Frame<'a>, name: &'a str, value: Value<'a>) -> bool {
        let Some(&around) = frame.loops.last() else { return false };
        let is_loss = name.to_ascii_lowercase().contains("loss")
            && !value.has(Facts::BULK)
            && !around.over_parts
            && !around.is_short;
        if !is_loss
            || around.has_backward
            || frame.locals.get(name).is_none_or(|local| local.depth + 1 != frame.loops.len())
        {
            return false;
        }
        let asks = crate::patterns::calls(around.body).into_iter().any(|call| {
            let callee = match &*call.func {
                Expr::Name(each) => frame.locals.get(each.id.as_str()).map(|local| local.value),
                _ => None,
            };
            callee.is_some_and(|callee| callee.has(Facts::MODULE) && !callee.has(Facts::LOSS))
        });
        let body = self.outline.functions[frame.function].body;
        asks && !within::carries_a_state(around.body)
            && reaches::reaches(body, name)
            && reaches::has_backward(body)
    }
}
