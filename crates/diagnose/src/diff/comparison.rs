//! What a comparison finds, as plain values.

use std::cmp::Reverse;

use oomph_trace::{Bytes, EventIdx};

use crate::classes::Class;
use crate::phase::Phase;
use crate::place::Place;

/// Two jobs compared. `a` is the one before, `b` the one after.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What the first job needs.
    pub a: Need,
    /// What the second job needs.
    pub b: Need,
    /// Every line that holds memory at either peak: what grew most first, what shrank most last. What the lines hold adds
    /// up to [`Need::requested`] on both sides.
    pub lines: Vec<LineChange>,
    /// The same by what it was for, in the order of [`Class::ALL`]; empty unless both recordings tell.
    pub classes: Vec<ClassChange>,
    /// What the steps of either job keep, most growth first.
    pub kept: Vec<KeptChange>,
    /// What a reader should know before trusting the figures.
    pub doubts: Vec<Doubt>,
}

impl Comparison {
    /// What was asked for and in use at the peaks.
    pub fn requested(&self) -> Change {
        Change { a: self.a.requested, b: self.b.requested }
    }

    /// What was held from the driver at most.
    pub fn reserved(&self) -> Change {
        Change { a: self.a.reserved, b: self.b.reserved }
    }

    /// Whether both need the same, line by line.
    pub fn is_same(&self) -> bool {
        self.requested().is_none()
            && self.reserved().is_none()
            && self.lines.iter().all(|line| line.change().is_none())
            && self.kept.iter().all(|line| line.change().is_none())
    }

    /// The line that explains most of the difference: of those that have a line, the one that changed most in the
    /// direction in which the need changed; in that of the growth, where the need is the same.
    pub fn first(&self) -> Option<&LineChange> {
        let shrinks = self.b.requested < self.a.requested;
        let toward = |line: &&LineChange| {
            let change = line.change();
            Reverse(if shrinks { change.less() } else { change.more() })
        };
        let lined = self.lines.iter().filter(|line| matches!(line.place(), Where::Line(_)));
        lined.min_by_key(toward).filter(|line| toward(line).0 > Bytes::ZERO)
    }
}

/// An amount on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Before.
    pub a: Bytes,
    /// After.
    pub b: Bytes,
}

impl Change {
    /// By how much it grew; nothing where it did not.
    pub fn more(self) -> Bytes {
        self.b.saturating_sub(self.a)
    }

    /// By how much it shrank; nothing where it did not.
    pub fn less(self) -> Bytes {
        self.a.saturating_sub(self.b)
    }

    /// Whether both are the same.
    pub fn is_none(self) -> bool {
        self.a == self.b
    }

    /// The difference in bytes, negative where it shrank.
    pub fn signed(self) -> i64 {
        let part = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        part(self.more()) - part(self.less())
    }

    /// The difference as a fraction of what was before; `None` where that was nothing and something came.
    pub fn share(self) -> Option<f64> {
        match (self.a, self.is_none()) {
            (_, true) => Some(0.0),
            (Bytes::ZERO, _) => None,
            _ => Some(self.more().share_of(self.a) - self.less().share_of(self.a)),
        }
    }
}

/// What one job needs, beyond what was there at the start and has no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// What was asked for and in use at most.
    pub requested: Bytes,
    /// What was in use at most, with what rounding adds, replayed from an empty cache.
    pub active: Bytes,
    /// What was held from the driver at most, replayed from an empty cache.
    pub reserved: Bytes,
    /// The event that first reached [`Need::requested`].
    pub event: EventIdx,
    /// Its step.
    pub step: Option<u64>,
    /// Its phase, as it was marked.
    pub phase: Option<Phase>,
    /// How many steps were found.
    pub steps: usize,
    /// What was in use when the recording began and has no line: it is not counted.
    pub before_start: Bytes,
    /// What was asked for within this recording and was there already when the other one began: it is not counted.
    pub set_aside: Bytes,
}

/// Whose memory it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Where {
    /// A line.
    Line(Place),
    /// No line was recorded; the phase in which it was asked for, where that is known. Autograd's own threads have no
    /// line of Python.
    Phase(Option<Phase>),
}

/// What a line holds at the peak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The line, by its number on this side.
    pub place: Where,
    /// What it asked for.
    pub bytes: Bytes,
    /// In how many allocations.
    pub count: usize,
    /// What the line says, where that is known.
    pub text: Option<String>,
}

/// What a line holds at both peaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineChange {
    /// Before; `None`: no request of the first job came from this line.
    pub a: Option<Held>,
    /// After; `None`: no request of the second job came from this line.
    pub b: Option<Held>,
}

impl LineChange {
    /// What it held before and what it holds after.
    pub fn change(&self) -> Change {
        let bytes = |side: &Option<Held>| side.as_ref().map_or(Bytes::ZERO, |held| held.bytes);
        Change { a: bytes(&self.a), b: bytes(&self.b) }
    }

    /// How it is called: by its number after the change, where it is still there.
    pub fn shown(&self) -> Option<&Held> {
        self.b.as_ref().or(self.a.as_ref())
    }

    /// Whose memory it is.
    pub fn place(&self) -> &Where {
        self.shown().map_or(&Where::Phase(None), |held| &held.place)
    }
}

/// What memory of one class there is at both peaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassChange {
    /// What it is for.
    pub class: Class,
    /// How much.
    pub change: Change,
}

/// What a line keeps with every step, in bytes a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptChange {
    /// Before; `None`: it keeps nothing.
    pub a: Option<(Where, Bytes)>,
    /// After; `None`: it keeps nothing.
    pub b: Option<(Where, Bytes)>,
}

impl KeptChange {
    /// What it kept before and what it keeps after, a step.
    pub fn change(&self) -> Change {
        let bytes = |side: &Option<(Where, Bytes)>| side.as_ref().map_or(Bytes::ZERO, |(_, bytes)| *bytes);
        Change { a: bytes(&self.a), b: bytes(&self.b) }
    }

    /// The line.
    pub fn place(&self) -> &Where {
        self.b.as_ref().or(self.a.as_ref()).map_or(&Where::Phase(None), |(place, _)| place)
    }
}

/// What a reader should know before trusting a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The settings of the allocator differ; those of the first are used for both.
    Settings,
    /// The versions of PyTorch differ; the allocator of the first is used for both.
    Version,
    /// One of the recordings ends where memory ran out: what the job would have needed after that is not in it.
    RanOut {
        /// Whether it is the first.
        a: bool,
        /// Whether it is the second.
        b: bool,
    },
    /// What is kept grows with every step, and the jobs made different numbers of steps.
    Steps,
    /// So much of either peak has no line, and not as much of both.
    NoLine(Change),
}
