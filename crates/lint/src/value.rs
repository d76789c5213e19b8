//! What the reader knows of a value: what it may be, and what it may hold on to.

use std::ops::{BitOr, BitOrAssign};

/// Facts about a value; of two ways that meet, both count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts(u32);

impl Facts {
    pub(crate) const NONE: Facts = Facts(0);
    /// A tensor, or something that holds one.
    pub(crate) const TENSOR: Facts = Facts(1);
    /// It holds the graph that made it.
    pub(crate) const GRAPH: Facts = Facts(1 << 1);
    /// That graph was begun in this function, and not brought by an argument.
    pub(crate) const OWN: Facts = Facts(1 << 2);
    /// It is on the GPU.
    pub(crate) const GPU: Facts = Facts(1 << 3);
    /// More than a few numbers.
    pub(crate) const BULK: Facts = Facts(1 << 4);
    /// A model, or a part of one.
    pub(crate) const MODULE: Facts = Facts(1 << 5);
    /// A module that gives a loss.
    pub(crate) const LOSS: Facts = Facts(1 << 6);
    /// An optimizer, or what schedules one.
    pub(crate) const OPTIMIZER: Facts = Facts(1 << 7);
    /// Copies of a model's weights or of an optimizer's state.
    pub(crate) const WEIGHTS: Facts = Facts(1 << 8);
    /// An exception.
    pub(crate) const ERROR: Facts = Facts(1 << 9);
    /// A list, dictionary or the like.
    pub(crate) const CONTAINER: Facts = Facts(1 << 10);
    /// A container that forgets when it is full.
    pub(crate) const BOUNDED: Facts = Facts(1 << 11);
    /// A DataLoader.
    pub(crate) const LOADER: Facts = Facts(1 << 12);
    /// A module whose parameters take no gradients.
    pub(crate) const FROZEN: Facts = Facts(1 << 13);
    /// Parameters of a model.
    pub(crate) const PARAMETERS: Facts = Facts(1 << 14);
    /// Numbers of 64 bits that nobody asked for.
    pub(crate) const DOUBLE: Facts = Facts(1 << 15);
    /// What a function keeps that yields: its locals live on.
    pub(crate) const GENERATOR: Facts = Facts(1 << 16);
    /// Known to be on the host.
    pub(crate) const HOST: Facts = Facts(1 << 17);
    /// A module in evaluation mode.
    pub(crate) const EVAL: Facts = Facts(1 << 18);
    /// What a model gave, or a part of it.
    pub(crate) const OUTPUT: Facts = Facts(1 << 19);
    /// A context under which no graph is made.
    pub(crate) const NO_GRAPH: Facts = Facts(1 << 20);
    /// `None`.
    pub(crate) const ABSENT: Facts = Facts(1 << 21);
    /// `itertools.cycle`.
    pub(crate) const CYCLE: Facts = Facts(1 << 22);
    /// A gradient.
    pub(crate) const GRADIENT: Facts = Facts(1 << 23);
    /// All that a tensor hands on to what is made from it.
    pub(crate) const OF_TENSOR: Facts = Facts::TENSOR
        .and(Facts::GRAPH)
        .and(Facts::OWN)
        .and(Facts::GPU)
        .and(Facts::BULK)
        .and(Facts::DOUBLE)
        .and(Facts::HOST)
        .and(Facts::OUTPUT)
        .and(Facts::GRADIENT);

    pub(crate) const fn and(self, other: Facts) -> Facts {
        Facts(self.0 | other.0)
    }

    pub(crate) fn has(self, other: Facts) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn any(self, other: Facts) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn without(self, other: Facts) -> Facts {
        Facts(self.0 & !other.0)
    }

    pub(crate) fn only(self, other: Facts) -> Facts {
        Facts(self.0 & other.0)
    }
}

impl BitOr for Facts {
    type Output = Facts;

    fn bitor(self, other: Facts) -> Facts {
        Facts(self.0 | other.0)
    }
}

impl BitOrAssign for Facts {
    fn bitor_assign(&mut self, other: Facts) {
        self.0 |= other.0;
    }
}

/// A value: its facts, and where it is known of which class of the file it is an instance, which function it is, or which
/// place outside the function it was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Value<'a> {
    pub(crate) facts: Facts,
    pub(crate) class: Option<usize>,
    pub(crate) function: Option<usize>,
    pub(crate) home: Option<Home<'a>>,
}

/// A place that outlives a call: an attribute or a name of an outer scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Home<'a> {
    Attribute(&'a str),
    Outer(&'a str),
}

impl<'a> Value<'a> {
    pub(crate) fn of(facts: Facts) -> Value<'a> {
        Value { facts, class: None, function: None, home: None }
    }

    pub(crate) fn has(self, facts: Facts) -> bool {
        self.facts.has(facts)
    }

    /// What a loop over it gives.
    pub(crate) fn item(self) -> Value<'a> {
        let mut facts = self.facts.without(Facts::CONTAINER.and(Facts::LOADER).and(Facts::BOUNDED));
        if self.has(Facts::LOADER) {
            facts |= Facts::TENSOR.and(Facts::BULK);
        }
        Value { facts, home: None, ..self }
    }

    /// Where two ways meet.
    pub(crate) fn or(self, other: Value<'a>) -> Value<'a> {
        Value {
            facts: self.facts | other.facts,
            class: self.class.or(other.class),
            function: self.function.or(other.function),
            home: self.home.or(other.home),
        }
    }
}
