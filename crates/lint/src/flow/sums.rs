//! Sums that carry their graphs, and states that go from step to step.

use ruff_python_ast::{Expr, StmtAugAssign};
use ruff_text_size::{Ranged, TextRange};

use super::frame::Frame;
use super::{Flow, reaches, within};
use crate::names::{last, mentions, mentions_place, root};
use crate::outline::cuts;
use crate::rule::Rule;
use crate::value::{Facts, Home, Value};

impl<'a> Flow<'a> {
    /// `total += value`.
    pub(super) fn augmented(&mut self, frame: &mut Frame<'a>, stmt: &'a StmtAugAssign) {
        let value = self.value(frame, &stmt.value);
        let before = match &*stmt.target {
            Expr::Name(name) => frame.locals.get(name.id.as_str()).map(|local| (local.value, local.depth)),
            _ => None,
        };
        if value.has(Facts::CONTAINER) {
            let item = value.item();
            self.grow(frame, &stmt.target, item, None, stmt.range());
            return;
        }
        self.sums(frame, &stmt.target, value, stmt.range(), &stmt.value);
        if let (Expr::Name(name), Some((had, depth))) = (&*stmt.target, before) {
            let home = had.home;
            frame.set(name.id.as_str(), Value { home, ..Value::of(had.facts | value.facts) });
            if let Some(local) = frame.locals.get_mut(name.id.as_str()) {
                local.depth = depth;
            }
        } else {
            match &*stmt.target {
                Expr::Attribute(_) => self.assign(frame, &stmt.target, value),
                Expr::Subscript(subscript) => self.holds(frame, &subscript.value, value),
                _ => {}
            }
        }
    }

    /// A value with a graph is added to something that goes from step to step.
    pub(super) fn sums(
        &mut self,
        frame: &mut Frame<'a>,
        target: &'a Expr,
        value: Value<'a>,
        range: TextRange,
        added: &'a Expr,
    ) {
        let in_model = self.is_in_model(frame.function) && !target.is_attribute_expr();
        if !self.reports || !value.has(Facts::GRAPH) || in_model {
            return;
        }
        if !target.is_attribute_expr() && !self.asks_in_loop(frame) {
            return;
        }
        let name = match target {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            Expr::Subscript(subscript) => root(&subscript.value).unwrap_or("it"),
            _ => return,
        };
        let spent = frame.loops.iter().any(|each| each.has_backward && !each.over_parts);
        let is_kept = match target {
            Expr::Attribute(attribute) => {
                frame.is_repeated()
                    && !self.outline.emptied.contains(&Home::Attribute(attribute.attr.as_str()))
                    && (spent || self.summaries[frame.function].called)
            }
            _ if frame.locals.contains_key(name) => {
                let inner = frame.loops_since(name);
                let is_over_parts = target.is_name_expr() && inner.iter().all(|each| each.over_parts);
                let reaches = || {
                    if inner.iter().any(|each| each.has_backward) {
                        self.reaches_inside(frame, name)
                    } else {
                        reaches::reaches(self.outline.functions[frame.function].body, name)
                    }
                };
                !inner.is_empty() && !is_over_parts && !reaches()
            }
            _ => frame.is_repeated() && spent,
        };
        if is_kept {
            let fix = self.as_number(added, value);
            self.report_fixed(Rule::GraphKept, range, format!(
                "`{name}` grows by a graph in every step: all of them stay in memory. Add a number: `.item()`"
            ), fix);
        }
    }

    /// A scalar with a graph that is only added up can be a number.
    pub(super) fn as_number(&self, added: &'a Expr, value: Value<'a>) -> Option<crate::finding::Fix> {
        if value.has(Facts::BULK) {
            return None;
        }
        let range = added.range();
        let is_simple = added.is_name_expr() || added.is_attribute_expr() || added.is_call_expr();
        let edits = if is_simple {
            vec![(TextRange::empty(range.end()), ".detach()".to_owned())]
        } else {
            vec![
                (TextRange::empty(range.start()), "(".to_owned()),
                (TextRange::empty(range.end()), ").detach()".to_owned()),
            ]
        };
        Some(crate::finding::Fix { edits })
    }

    /// `state = model(x, state)`, `mean = 0.9 * mean + 0.1 * x`, `queue = torch.cat([queue, x])`.
    pub(super) fn accumulates(
        &mut self,
        frame: &mut Frame<'a>,
        target: &'a Expr,
        expr: &'a Expr,
        value: Value<'a>,
    ) {
        if let Expr::Tuple(tuple) = target {
            for each in &tuple.elts {
                self.accumulates(frame, each, expr, value);
            }
            return;
        }
        if !self.reports
            || !(target.is_name_expr() || target.is_attribute_expr())
            || !mentions_place(expr, target)
        {
            return;
        }
        let is_own = matches!(target, Expr::Attribute(each) if self.own_class(frame, &each.value).is_some());
        if cuts(expr, target) || (self.is_in_model(frame.function) && !is_own) {
            return;
        }
        let range = expr.range();
        match target {
            Expr::Attribute(attribute) => {
                let name = attribute.attr.as_str();
                if !frame.is_repeated() || self.outline.emptied.contains(&Home::Attribute(name)) {
                    return;
                }
                if value.has(Facts::GRAPH) && !self.is_guarded_chain(expr, target) {
                    self.report(Rule::GraphKept, range, format!(
                        "`{name}` is made from itself with a graph: the graphs of all steps hang together. Use `.detach()` on what goes in"
                    ));
                } else if self.is_cat(expr)
                    && value.has(Facts::BULK)
                    && self.own_class(frame, &attribute.value).is_some()
                {
                    self.report(
                        Rule::OutputsOnGpu,
                        range,
                        format!("`{name}` grows in every call and is never cut. Keep the last ones: `[-n:]`"),
                    );
                }
            }
            Expr::Name(name) => {
                let id = name.id.as_str();
                if !frame.locals.contains_key(id) {
                    return;
                }
                let inner = frame.loops_since(id);
                if inner.is_empty() || inner.iter().all(|each| each.over_parts) || !value.has(Facts::GRAPH) {
                    return;
                }
                let is_sum = expr.is_bin_op_expr();
                if is_sum {
                    self.sums(frame, target, value, range, expr);
                    return;
                }
                let detached = inner.iter().any(|each| within::detaches(each.body, id));
                if inner.iter().any(|each| each.has_backward)
                    && !detached
                    && self.goes_through_a_module(frame, expr, target)
                {
                    self.report(Rule::RecurrentState, range, format!(
                        "`{id}` goes from step to step with its graph, so that the graphs of all steps hang together. `{id} = {id}.detach()` after the step's backward"
                    ));
                }
            }
            _ => {}
        }
    }

    pub(super) fn goes_through_a_module(
        &mut self,
        frame: &mut Frame<'a>,
        expr: &'a Expr,
        target: &'a Expr,
    ) -> bool {
        let Expr::Call(call) = expr else { return false };
        let callee = self.value(frame, &call.func);
        let is_model = callee.has(Facts::MODULE)
            || callee.function.is_some_and(|id| self.summaries[id].result.has(Facts::OWN));
        let given = call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|each| &each.value));
        is_model && given.into_iter().any(|each| mentions_place(each, target))
    }

    /// Whether the place is detached where it is used.
    pub(super) fn is_guarded_chain(&self, expr: &'a Expr, target: &'a Expr) -> bool {
        mentions(expr, &|each| {
            each.as_call_expr().and_then(|call| call.func.as_attribute_expr()).is_some_and(|method| {
                matches!(method.attr.as_str(), "detach" | "item" | "data")
                    && mentions_place(&method.value, target)
            })
        })
    }

    pub(super) fn is_cat(&self, expr: &'a Expr) -> bool {
        let Expr::Call(call) = expr else { return false };
        self.names
            .full(&call.func)
            .is_some_and(|full| matches!(last(&full), "cat" | "concat" | "vstack" | "hstack"))
    }
}
