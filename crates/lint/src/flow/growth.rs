//! What is kept: containers that grow, sums that carry their graphs, states that go from step to step.

use ruff_python_ast::{Expr, ExprSubscript};
use ruff_text_size::{Ranged, TextRange};

use super::frame::Frame;
use super::places::Kept;
use super::{Flow, reaches, within};
use crate::rule::Rule;
use crate::value::{Facts, Home, Value};

impl<'a> Flow<'a> {
    /// A value is put into a container.
    pub(super) fn grow(
        &mut self,
        frame: &mut Frame<'a>,
        container: &'a Expr,
        value: Value<'a>,
        key: Option<&'a Expr>,
        range: TextRange,
    ) {
        let of_interest = Facts::GRAPH.and(Facts::BULK).and(Facts::MODULE).and(Facts::OPTIMIZER);
        let of_interest = of_interest.and(Facts::WEIGHTS).and(Facts::ERROR).and(Facts::GENERATOR);
        // Whoever puts a tensor into it holds it.
        self.holds(frame, container, value);
        if !self.reports || !value.facts.any(of_interest) {
            return;
        }
        let kept = self.kept(frame, container, value.facts);
        let name = match kept {
            Kept::No => return,
            Kept::Local(name) | Kept::Beyond(name) => name,
        };
        if let Some(key) = key
            && !self.varies(frame, key)
        {
            return;
        }
        let is_local = matches!(kept, Kept::Local(_));
        let facts = value.facts;
        if self.is_in_model(frame.function) && !frame.is_hook && (is_local || !self.is_own(frame, container))
        {
            return;
        }
        if is_local && facts.has(Facts::TENSOR) && !self.asks_in_loop(frame) {
            return;
        }
        if facts.has(Facts::GRAPH) {
            // Of a local only the loops that it goes through count: what is made in a step belongs to it.
            let loops = if is_local { frame.loops_since(name) } else { &frame.loops[..] };
            let spent = loops.iter().any(|each| each.has_backward && !each.over_parts);
            if is_local && !frame.loops.is_empty() && loops.iter().all(|each| each.over_parts) {
                return;
            }
            let body = self.outline.functions[frame.function].body;
            if is_local && self.waits_for_all(frame, name, value) {
                self.report(Rule::LossesFirst, range, format!(
                    "`{name}` holds the graphs of all batches until one backward pass at the end. Call `(loss / n).backward()` for each: the same gradients, with one graph at a time"
                ));
                return;
            }
            if is_local && reaches::reaches(body, name) && (!spent || self.reaches_inside(frame, name)) {
                return;
            }
            if !is_local && !spent && !frame.is_hook && self.is_library_module(frame) {
                return;
            }
            if value.has(Facts::BOUNDED) && !spent {
                return;
            }
            self.report(Rule::GraphKept, range, format!(
                "`{name}` keeps this tensor with the whole graph that made it, in every step. Keep a number (`.item()`) or a tensor without its graph (`.detach()`)"
            ));
        } else if facts.any(Facts::WEIGHTS) && facts.has(Facts::GPU) && frame.is_repeated() {
            self.report(Rule::ModelsKept, range, format!(
                "`{name}` keeps one more copy of the weights on the GPU every time. Keep copies on the host (`.cpu()`), or only the last one"
            ));
        } else if (facts.has(Facts::MODULE) || facts.has(Facts::OPTIMIZER)) && !facts.has(Facts::TENSOR) {
            let trains = frame.loops.iter().any(|each| each.has_backward && !each.over_parts);
            if key.is_some() && !is_local
                || self.is_built_once(frame)
                || (is_local && !trains && !facts.has(Facts::GPU))
                || self.returns_early(frame)
            {
                return;
            }
            self.report(Rule::ModelsKept, range, format!(
                "`{name}` keeps every model or optimizer that is made here, with its memory. Keep what you need of it, and let go of the rest"
            ));
        } else if facts.has(Facts::ERROR) {
            let has_tensors =
                frame.locals.values().any(|local| local.value.facts.any(Facts::TENSOR.and(Facts::MODULE)));
            if !has_tensors && !facts.has(Facts::GPU) {
                return;
            }
            self.report(Rule::ErrorsKept, range, format!(
                "`{name}` keeps the exception, and with it every frame of its traceback and their tensors. Keep its text: `str(error)`"
            ));
        } else if facts.has(Facts::GENERATOR.and(Facts::TENSOR)) {
            self.report(Rule::OutputsOnGpu, range, format!(
                "`{name}` keeps a generator that has not ended, and with it all its tensors. Close it when you are done: `.close()`"
            ));
        } else if facts.has(Facts::BULK.and(Facts::GPU)) && !facts.has(Facts::PARAMETERS) {
            // The parts of one tensor are put together again; what an agent collects is learned from on the GPU.
            let is_part = |each: &super::frame::Loop<'_>| each.over.is_some_and(within::is_split);
            let is_over =
                frame.loops.last().is_some_and(|each| each.over_parts || each.is_short || is_part(each));
            let around = self.outline.functions[frame.function].name();
            let is_over = is_over || around.contains("collect") || around.contains("rollout");
            let is_of_interest =
                facts.has(Facts::OUTPUT) || (facts.has(Facts::GRADIENT) && frame.function == 0);
            if is_local && (is_over || !is_of_interest) {
                return;
            }
            let rule = if frame.is_hook { Rule::Hooks } else { Rule::OutputsOnGpu };
            self.report(rule, range, format!(
                "`{name}` keeps one more tensor on the GPU in every round. Move what you keep to the host (`.cpu()`), or keep less of it"
            ));
        }
    }

    /// What a local or attribute holds from now on.
    pub(super) fn holds(&mut self, frame: &mut Frame<'a>, container: &'a Expr, value: Value<'a>) {
        let facts = value.facts.without(Facts::CONTAINER.and(Facts::BOUNDED));
        match container {
            Expr::Name(name) => {
                if let Some(local) = frame.locals.get_mut(name.id.as_str()) {
                    local.value.facts |= facts;
                    let now = local.value;
                    let before = frame.all.get(name.id.as_str()).copied().unwrap_or_default();
                    frame.all.insert(name.id.as_str(), before.or(now));
                }
            }
            Expr::Attribute(attribute) => {
                let own = self.own_class(frame, &attribute.value);
                let class = own.or_else(|| self.value(frame, &attribute.value).class);
                if let Some(class) = class {
                    self.keep_attribute(class, attribute.attr.as_str(), Value::of(facts));
                }
            }
            Expr::Subscript(subscript) => self.holds(frame, &subscript.value, value),
            _ => {}
        }
    }

    fn kept(&mut self, frame: &mut Frame<'a>, container: &'a Expr, facts: Facts) -> Kept<'a> {
        // A few graphs are a lot, too.
        let may_be_bounded = !facts.has(Facts::GRAPH);
        match container {
            Expr::Subscript(subscript) => self.kept(frame, &subscript.value, facts),
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) if method.attr.as_str() == "setdefault" => {
                    self.kept(frame, &method.value, facts)
                }
                _ => Kept::No,
            },
            Expr::Name(name) => {
                let id = name.id.as_str();
                let value = self.value(frame, container);
                if value.has(Facts::BOUNDED) && may_be_bounded
                    || value.facts.any(Facts::TENSOR) && !value.has(Facts::CONTAINER)
                {
                    return Kept::No;
                }
                match (frame.locals.get(id).copied(), value.home) {
                    (_, Some(home)) => self.beyond(frame, home, facts),
                    (Some(local), None) if local.is_parameter => {
                        if frame.is_repeated()
                            && value.has(Facts::CONTAINER)
                            && !self.is_emptied_here(frame, id)
                        {
                            Kept::Local(id)
                        } else {
                            Kept::No
                        }
                    }
                    (Some(local), None) => {
                        if local.depth < frame.loops.len() && !self.is_emptied_here(frame, id) {
                            Kept::Local(id)
                        } else {
                            Kept::No
                        }
                    }
                    (None, None) => Kept::No,
                }
            }
            Expr::Attribute(attribute) => {
                let value = self.value(frame, container);
                if value.has(Facts::BOUNDED) && may_be_bounded {
                    return Kept::No;
                }
                let own = self.own_class(frame, &attribute.value);
                let is_short_lived = own.is_some_and(|class| {
                    !self.long_lived.contains(&class)
                        && self
                            .outline
                            .method(class, "__init__")
                            .is_some_and(|init| self.summaries[init].called)
                });
                if is_short_lived && frame.loops.is_empty() {
                    return Kept::No;
                }
                // Of objects that are not known, and of what is just being made, nothing is said.
                let class = own.or_else(|| self.value(frame, &attribute.value).class);
                if class.is_none() || self.outline.functions[frame.function].name() == "__init__" {
                    return Kept::No;
                }
                self.beyond(frame, Home::Attribute(attribute.attr.as_str()), facts)
            }
            _ => Kept::No,
        }
    }

    /// `container[key] = value`.
    pub(super) fn stored(&mut self, frame: &mut Frame<'a>, subscript: &'a ExprSubscript, value: Value<'a>) {
        let container = &subscript.value;
        let of = self.value(frame, container);
        // Writing into a tensor keeps nothing more.
        if of.facts.any(Facts::TENSOR) && !of.has(Facts::CONTAINER) {
            return;
        }
        self.grow(frame, container, value, Some(&subscript.slice), subscript.range());
    }
}
