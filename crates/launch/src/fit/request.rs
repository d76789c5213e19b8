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

/// A family of measures; [`Family::words`] says what each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of each are in one place, for the command line too")]
pub enum Family {
    Settings,
    Optimizer,
    Loss,
    Checkpointing,
    MicroBatches,
    HostState,
    HostActivations,
}

impl Family {
    /// All of them, the cheapest first.
    pub const ALL: [Family; 7] = [
        Family::Settings,
        Family::Optimizer,
        Family::Loss,
        Family::Checkpointing,
        Family::MicroBatches,
        Family::HostState,
        Family::HostActivations,
    ];

    /// What it is called on the command line, and what it is.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Family::Settings => ("settings", "Settings of the allocator"),
            Family::Optimizer => ("optimizer", "Forms of the optimizer"),
            Family::Loss => ("loss", "The loss in chunks"),
            Family::Checkpointing => ("checkpointing", "Gradient checkpointing"),
            Family::MicroBatches => ("micro-batches", "Micro-batches"),
            Family::HostState => ("host-state", "The optimizers' state on the host"),
            Family::HostActivations => ("host-activations", "Saved activations on the host"),
        }
    }

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
