//! What the user wants: this program, in this memory.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use oomph_trace::Bytes;

use super::point::Point;
use crate::program::Target;

/// A wish: this program, in this memory.
#[derive(Clone, Debug)]
pub struct Request {
    /// The program.
    pub target: Target,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The interpreter, where the user insists on one.
    pub python: Option<PathBuf>,
    /// PyTorch's allocator settings.
    pub settings: Vec<String>,
    /// The phantom's library, where the caller's own package has one.
    pub library: Option<PathBuf>,
    /// The card's name.
    pub gpu: Option<String>,
    /// What PyTorch may hold.
    pub limit: Option<Bytes>,
    /// The script's flags for the batch and for accumulation.
    pub flags: Option<(String, String)>,
    /// Optimizer steps to run; `None`: until the peak stands still.
    pub steps: Option<u64>,
    /// How long one run may take.
    pub longest: Duration,
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
