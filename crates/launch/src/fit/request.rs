//! What the user wants: this program, in this memory.

use oomph_trace::Bytes;

use super::point::{Point, Space};
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
    /// The loss in chunks.
    Loss,
    /// Gradient checkpointing.
    Checkpointing,
    /// Micro-batches.
    MicroBatches,
    /// The optimizers' state on the host.
    HostState,
    /// Saved activations on the host.
    HostActivations,
}

impl Family {
    /// A space without its measures.
    pub(super) fn out_of(self, space: Space) -> Space {
        let nothing = Point { parts: 1, ..Point::default() };
        match self {
            Family::Settings => space,
            Family::Optimizer => space.without(Point { form: true, ..nothing }),
            Family::Loss => space.without(Point { chunks: true, ..nothing }),
            Family::Checkpointing => space.without(Point { blocks: 1, ..nothing }),
            Family::MicroBatches => space.without(Point { parts: 2, ..nothing }),
            Family::HostState => space.without_on_host(|rung| rung.state = false),
            Family::HostActivations => space.without_on_host(|rung| rung.eighths = 0),
        }
    }
}
