//! Where a recording can be read in more than one way, and which way is taken.

use std::collections::BTreeMap;

use oomph_trace::{Addr, Bytes, Stream};
use rustc_hash::{FxHashMap, FxHashSet};

/// How the recording is read where it can be read in more than one way. The default is the likeliest reading of each
/// part by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assumptions {
    /// Runs of releases, by first event, that mean the other of pressure and `empty_cache` than seemed likelier.
    pub(crate) flipped: FxHashSet<usize>,
    /// Segments, by the event that made them, that belong to a private pool: the number of the pool.
    pub(crate) private: FxHashMap<usize, usize>,
    /// Lengths of blocks in use before the first event, by address.
    pub(crate) lengths: BTreeMap<Addr, Bytes>,
}

impl Assumptions {
    /// How many questions about single blocks and segments are settled.
    pub(crate) fn settled(&self) -> (usize, Bytes) {
        (self.private.len(), self.lengths.values().copied().sum())
    }

    /// The number of the next private pool; so many are assumed already.
    pub(crate) fn next_pool(&self) -> usize {
        self.private.values().max().map_or(0, |last| last + 1)
    }
}

/// The parts of a recording that can be read in more than one way.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenQuestions {
    /// Releases that may be a call of `empty_cache` or pressure, as first event and end of the run.
    pub(crate) releases: Vec<(usize, usize)>,
    /// Segments that were given back before the end, whose owner nothing tells; in the order of their ends.
    pub(crate) segments: Vec<UnownedSegment>,
    /// Blocks in use before the first event whose length is a guess.
    pub(crate) lengths: Vec<GuessedLength>,
}

/// A segment whose owner nothing tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnownedSegment {
    /// The event that made it.
    pub(crate) born: usize,
    /// The event that gave it back.
    pub(crate) died: usize,
    pub(crate) addr: Addr,
    pub(crate) size: Bytes,
    pub(crate) stream: Stream,
}

/// A block whose length is a guess.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuessedLength {
    pub(crate) addr: Addr,
    /// The least it can be.
    pub(crate) least: Bytes,
    /// As guessed.
    pub(crate) size: Bytes,
    /// Up to the next block in use.
    pub(crate) room: Bytes,
}
