//! Containers: where they live, and what keeps them small.

use ruff_python_ast::Expr;

use super::frame::Frame;
use super::{Flow, reaches, within};
use crate::names::{mentions, mentions_place, root};
use crate::value::{Facts, Home};

/// What a container is to the function that puts something into it.
pub(super) enum Kept<'a> {
    /// It is made anew in every round: nothing is kept.
    No,
    /// A local that is made before the loop.
    Local(&'a str),
    /// It outlives the call.
    Beyond(&'a str),
}

impl<'a> Flow<'a> {
    /// Whether a container is the object's own: `self.x`.
    pub(super) fn is_own(&self, frame: &Frame<'a>, container: &Expr) -> bool {
        match container {
            Expr::Attribute(attribute) => self.own_class(frame, &attribute.value).is_some(),
            Expr::Subscript(subscript) => self.is_own(frame, &subscript.value),
            Expr::Name(name) => frame.locals.get(name.id.as_str()).is_none_or(|local| local.is_parameter),
            Expr::Call(call) => {
                call.func.as_attribute_expr().is_some_and(|method| self.is_own(frame, &method.value))
            }
            _ => false,
        }
    }

    pub(super) fn beyond(&self, frame: &Frame<'a>, home: Home<'a>, facts: Facts) -> Kept<'a> {
        let (Home::Attribute(name) | Home::Outer(name)) = home;
        // Put together at the end of an evaluation and then emptied, it holds all of its outputs until then.
        let function = self.outline.functions[frame.function].name();
        let evaluates = matches!(function, "validation_step" | "test_step" | "predict_step")
            && facts.has(Facts::BULK)
            && self.is_put_together(name);
        let is_emptied = self.outline.emptied.contains(&home) && !evaluates;
        if is_emptied || !frame.is_repeated() { Kept::No } else { Kept::Beyond(name) }
    }

    /// Whether a local container is emptied or made anew in the loops that it grows in.
    pub(super) fn is_emptied_here(&self, frame: &Frame<'a>, name: &'a str) -> bool {
        self.outline.emptied.contains(&Home::Outer(name)) && {
            // Somewhere in the file; here only a loop of this function counts.
            frame.loops_since(name).iter().any(|each| within::empties(each.body, name))
                || frame.loops.is_empty()
        }
    }

    /// Whether what the loop keeps reaches a backward pass of the same loop.
    pub(super) fn reaches_inside(&self, frame: &Frame<'a>, name: &str) -> bool {
        frame.loops_since(name).iter().any(|each| each.has_backward && reaches::reaches(each.body, name))
    }

    /// Whether this is inside a model's own code, whose results somebody may still train.
    pub(super) fn is_library_module(&self, frame: &Frame<'a>) -> bool {
        let function = &self.outline.functions[frame.function];
        function.name() == "forward"
            && function.class.is_some_and(|class| self.outline.is_module(class))
            && !self.summaries[frame.function].called
    }

    /// Whether this is where a model is put together.
    pub(super) fn is_built_once(&self, frame: &Frame<'a>) -> bool {
        let function = &self.outline.functions[frame.function];
        matches!(function.name(), "__init__" | "setup" | "build" | "make" | "configure_optimizers")
            || self.summaries[frame.function].by_init
            || frame.loops.is_empty() && !frame.repeats
            || function.name().starts_with("build")
            || function.name().starts_with("make")
            || function.name().starts_with("_build")
            || function.name().starts_with("_make")
    }

    /// Whether a function may return before it gets anywhere: it keeps watch on what it makes.
    pub(super) fn returns_early(&self, frame: &Frame<'a>) -> bool {
        use ruff_python_ast::Stmt;
        self.outline.functions[frame.function].body.iter().any(|stmt| {
            stmt.as_if_stmt().is_some_and(|found| {
                crate::live::branches(found).bodies.iter().any(|body| matches!(body, [Stmt::Return(_)]))
            })
        })
    }

    /// Whether a key is another one in every round.
    pub(super) fn varies(&self, frame: &Frame<'a>, key: &'a Expr) -> bool {
        if mentions(key, &|each| {
            each.as_bin_op_expr().is_some_and(|op| op.op == ruff_python_ast::Operator::Mod)
        }) {
            return false;
        }
        let name = root(key);
        const PARTS: [&str; 8] = ["layer", "module", "head", "level", "device", "rank", "param", "block"];
        if name.is_some_and(|name| PARTS.iter().any(|part| name.contains(part))) {
            return false;
        }
        let in_loop = frame.loops.iter().filter(|each| !each.over_parts).filter_map(|each| each.target);
        let by_loop = in_loop
            .into_iter()
            .any(|target| mentions(key, &|each| each.is_name_expr() && mentions_place(target, each)));
        let by_call = frame.repeats
            && name.is_some_and(|name| {
                frame.locals.get(name).is_some_and(|local| local.is_parameter || local.depth == 0)
            })
            && !key.is_string_literal_expr();
        let local = name.and_then(|name| frame.locals.get(name));
        by_loop
            || by_call
            || (local.is_some_and(|local| !local.is_parameter && local.depth > 0)
                && frame.loops.iter().any(|each| !each.over_parts))
    }

    /// Whether an attribute is put together as a whole somewhere: `torch.cat(self.outputs)`.
    fn is_put_together(&self, name: &str) -> bool {
        let is_it = |expr: &Expr| expr.as_attribute_expr().is_some_and(|each| each.attr.as_str() == name);
        self.outline.functions.iter().any(|function| {
            crate::patterns::calls(function.body).into_iter().any(|call| {
                matches!(crate::patterns::callee(call), "cat" | "stack" | "concat")
                    && call.arguments.args.first().is_some_and(is_it)
            })
        })
    }
}
