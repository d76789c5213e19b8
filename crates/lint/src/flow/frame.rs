//! Where the reader stands inside one function.

use ruff_python_ast::{Expr, Stmt};
use rustc_hash::FxHashMap;

use crate::value::{Facts, Value};

/// The arguments of a call, with their names where they have one.
pub(super) type Given<'a> = [(Option<&'a str>, Value<'a>)];

/// What is known of any of them.
pub(super) fn facts(given: &Given<'_>) -> Facts {
    given.iter().fold(Facts::NONE, |all, (_, value)| all | value.facts)
}

/// A loop that the reader is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop<'a> {
    pub(super) body: &'a [Stmt],
    pub(super) target: Option<&'a Expr>,
    /// It goes through the parts of a model, and not through data or steps.
    pub(super) over_parts: bool,
    /// `backward()` is called in it.
    pub(super) has_backward: bool,
    /// It has only a few rounds, by what is written.
    pub(super) is_short: bool,
    pub(super) over: Option<&'a Expr>,
    /// A model is asked in it, or a function that gives what a model gave.
    pub(super) asks: bool,
}

/// A local: its value, and in how many loops of this function it was assigned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local<'a> {
    pub(super) value: Value<'a>,
    pub(super) depth: usize,
    pub(super) is_parameter: bool,
}

/// The state of a reading.
#[derive(Clone, Debug)]
pub(super) struct Frame<'a> {
    pub(super) function: usize,
    pub(super) locals: FxHashMap<&'a str, Local<'a>>,
    /// Every value that a local had.
    pub(super) all: FxHashMap<&'a str, Value<'a>>,
    pub(super) gradients: bool,
    pub(super) loops: Vec<Loop<'a>>,
    /// It is called again and again.
    pub(super) repeats: bool,
    pub(super) is_hook: bool,
    /// It runs in the steps of a training.
    pub(super) steps: bool,
    /// The way ended: return, raise, continue, break.
    pub(super) ended: bool,
}

impl<'a> Frame<'a> {
    pub(super) fn new(function: usize, gradients: bool) -> Frame<'a> {
        Frame {
            function,
            locals: FxHashMap::default(),
            all: FxHashMap::default(),
            gradients,
            loops: Vec::new(),
            repeats: false,
            is_hook: false,
            steps: false,
            ended: false,
        }
    }

    pub(super) fn set(&mut self, name: &'a str, value: Value<'a>) {
        let depth = self.loops.len();
        self.locals.insert(name, Local { value, depth, is_parameter: false });
        let before = self.all.get(name).copied().unwrap_or_default();
        self.all.insert(name, before.or(value));
    }

    /// The loops between here and where a local was assigned: those that it goes through. All, if it is none.
    pub(super) fn loops_since(&self, name: &str) -> &[Loop<'a>] {
        let depth = self.locals.get(name).map_or(0, |local| local.depth);
        &self.loops[depth.min(self.loops.len())..]
    }

    /// Another way meets this one.
    pub(super) fn meet(&mut self, other: Frame<'a>) {
        for (name, value) in other.all {
            let before = self.all.get(name).copied().unwrap_or_default();
            self.all.insert(name, before.or(value));
        }
        if other.ended && !self.ended {
            return;
        }
        if self.ended && !other.ended {
            (self.locals, self.ended, self.gradients) = (other.locals, false, other.gradients);
            return;
        }
        for (name, local) in other.locals {
            match self.locals.get_mut(name) {
                Some(mine) => {
                    mine.value = mine.value.or(local.value);
                    mine.depth = mine.depth.min(local.depth);
                }
                None => {
                    self.locals.insert(name, local);
                }
            }
        }
        self.gradients &= other.gradients;
    }

    /// Whether what happens here happens in every step of a training.
    pub(super) fn is_in_steps(&self) -> bool {
        self.steps || self.loops.iter().any(|each| (each.has_backward || each.asks) && !each.over_parts)
    }

    /// Whether what happens here happens again and again.
    pub(super) fn is_repeated(&self) -> bool {
        self.repeats || self.loops.iter().any(|each| !each.over_parts)
    }
}
