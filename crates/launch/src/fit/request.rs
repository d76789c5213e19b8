//! What the user wants: this program, in this memory.

use oomph_trace::Bytes;

use super::point::Point;
use crate::plan::subject::Subject;

/// A wish: this program, in this memory.
#[derive(Clone, Debug)]
pub struct Request {
    /// The script.
    pub subject: Subject,
    /// The card's name.
    pub gpu: Option<String>,
    /// What PyTorch may hold.
    pub limit: Option<Bytes>,
    /// The script's flags for the batch and for accumulation.
    pub flags: Option<(String, String)>,
    /// Measures that are not to be taken.
    pub without: Vec<Family>,
    /// Whether to search though the answer is known from the last time.
    pub again: bool,
    /// Whether there is a GPU on which those that fit can be timed.
    pub has_gpu: bool,
}

/// A family of measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Settings of the allocator.
    Settings,
    /// Forms of the optimizer.
    Optimizer,
    /// Gradient checkpointing.
    Checkpointing,
    /// Micro-batches.
    MicroBatches,
}

impl Family {
    /// A point that takes nothing else.
    pub(super) fn point(self) -> Point {
        let nothing = Point { parts: 1, ..Point::default() };
        match self {
            Family::Settings => nothing,
            Family::Optimizer => Point { form: true, ..nothing },
            Family::Checkpointing => Point { blocks: 1, ..nothing },
            Family::MicroBatches => Point { parts: 2, ..nothing },
        }
    }
}
