//! Values followed through a file: what is a tensor with a graph, where it goes, and what outlives the loop it is made in.
//!
//! Inside a function statements are followed in order, branches meet, and a loop's body is followed twice. Through the file
//! values go by arguments, results, attributes and outer names, until nothing changes; these are joined over all places, so
//! a function is read once for all its callers. The last round reports.

mod frame;
mod gradients;
mod library;
mod arguments;
mod reaches;
mod within;
mod models;
mod asks;
mod places;
mod growth;
mod sums;
mod evaluation;
mod caches;
mod methods;
mod library_calls;
mod calls;
mod expressions;
mod loops;
mod statements;

use ruff_text_size::TextRange;
use rustc_hash::{FxHashMap, FxHashSet};

use self::frame::Frame;
use crate::finding::{Finding, Fix};
use crate::names::Names;
use crate::outline::Outline;
use crate::rule::Rule;
use crate::value::{Facts, Value};

/// So often the file is read before the round that reports; values that still change then are taken as they are.
const ROUNDS: usize = 5;

/// What is known of a function from all its callers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summary<'a> {
    pub(super) parameters: FxHashMap<&'a str, Value<'a>>,
    pub(super) result: Value<'a>,
    /// Whether someone calls it, with gradients on, again and again.
    pub(super) called: bool,
    pub(super) gradients: bool,
    pub(super) repeats: bool,
    /// A hook of a module: it is called with tensors, in every step.
    pub(super) is_hook: bool,
    /// Made to run without graphs, by a call.
    pub(super) is_off: bool,
    /// Somebody who runs a backward pass calls it, for what it gives.
    pub(super) trained: bool,
    /// It is called in the steps of a training.
    pub(super) steps: bool,
    /// Code that is no part of a model calls it.
    pub(super) is_outside: bool,
    /// It is called while an object is made.
    pub(super) by_init: bool,
    /// The names of its locals, wherever they are assigned: for functions inside it.
    pub(super) locals: FxHashMap<&'a str, Value<'a>>,
}

impl Summary<'_> {
    /// How it is called: where this changes, its callers' facts have to be followed again.
    pub(super) fn calls(&self) -> [bool; 6] {
        [self.called, self.gradients, self.repeats, self.steps, self.is_outside, self.by_init]
    }
}

/// The reading of one file.
pub(crate) struct Flow<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) outline: &'a Outline<'a>,
    pub(super) summaries: Vec<Summary<'a>>,
    /// The attributes of the classes' instances.
    pub(super) attributes: FxHashMap<(usize, &'a str), Value<'a>>,
    /// Whether the file has to do with a GPU at all.
    pub(super) has_gpu: bool,
    /// Classes with an instance that is made once, and not in every round.
    pub(super) long_lived: FxHashSet<usize>,
    /// Which functions run a backward pass themselves, and functions by their names.
    trains: Vec<bool>,
    by_name: FxHashMap<&'a str, Vec<usize>>,
    /// Whether a hook's handle is removed somewhere, once it has been looked for.
    removes: Option<bool>,
    changed: bool,
    reports: bool,
    found: Vec<Finding>,
    seen: FxHashSet<(Rule, u32)>,
}

impl<'a> Flow<'a> {
    /// Everything that following the values of a file shows.
    pub(crate) fn findings(names: &'a Names<'a>, outline: &'a Outline<'a>, has_gpu: bool) -> Vec<Finding> {
        let mut flow = Flow {
            names,
            outline,
            summaries: vec![Summary::default(); outline.functions.len()],
            attributes: FxHashMap::default(),
            has_gpu,
            long_lived: FxHashSet::default(),
            trains: outline.functions.iter().map(|each| reaches::has_backward(each.body)).collect(),
            by_name: FxHashMap::default(),
            removes: None,
            changed: false,
            reports: false,
            found: Vec::new(),
            seen: FxHashSet::default(),
        };
        for (id, function) in outline.functions.iter().enumerate() {
            flow.by_name.entry(function.name()).or_default().push(id);
        }
        // First what the file itself calls: how a function is called says whether gradients are on in it. Then the rest.
        for all in [false, true] {
            for _ in 0..ROUNDS {
                flow.changed = false;
                flow.read(all);
                if !flow.changed {
                    break;
                }
            }
        }
        flow.reports = true;
        flow.read(true);
        flow.found
    }

    fn read(&mut self, all: bool) {
        for id in 0..self.outline.functions.len() {
            if all || id == 0 || self.summaries[id].called {
                self.function(id);
            }
        }
    }

    fn function(&mut self, id: usize) {
        let function = &self.outline.functions[id];
        let mut frame = Frame::new(id, self.gradients_are_on(id));
        frame.repeats = self.summaries[id].repeats || self.is_called_by_a_framework(id);
        frame.is_hook = self.summaries[id].is_hook;
        frame.steps = self.summaries[id].steps;
        if let Some(def) = function.def {
            self.parameters(&mut frame, def);
        }
        self.body(&mut frame, function.body);
        self.remembers(id);
        for (name, local) in frame.all {
            let summary = &mut self.summaries[id];
            let before = summary.locals.get(name).copied().unwrap_or_default();
            let after = before.or(local);
            if after != before {
                summary.locals.insert(name, after);
                self.changed = true;
            }
        }
    }

    fn report(&mut self, rule: Rule, range: TextRange, message: String) {
        self.report_fixed(rule, range, message, None);
    }

    fn report_fixed(&mut self, rule: Rule, range: TextRange, message: String, fix: Option<Fix>) {
        if self.reports && self.seen.insert((rule, range.start().to_u32())) {
            self.found.push(Finding { rule, range, message, fix });
        }
    }

    /// A value is joined to what an attribute may be.
    fn keep_attribute(&mut self, class: usize, name: &'a str, value: Value<'a>) {
        let before = self.attributes.get(&(class, name)).copied().unwrap_or_default();
        let after = before.or(Value { home: None, ..value });
        if after != before {
            self.attributes.insert((class, name), after);
            self.changed = true;
        }
    }
}

/// A tensor that a module gives.
pub(super) const OUTPUT: Facts = Facts::TENSOR.and(Facts::BULK);
