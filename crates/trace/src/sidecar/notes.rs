//! What a process tells of a plan's hurry and of measures.

use super::SeenFrame;
use super::read::{Field, Node, dicts, plain, value_or, words};
use crate::named;

dicts! {
    /// How far a script was seen after its peaks had stood still.
    HurryNote {
        /// The step after which loops over a DataLoader were cut; `None`: none was.
        step: Option<u64>,
        /// The step after which a loop without one was left; `None`: none was.
        left: Option<u64>,
        /// The last step that was made.
        last: u64 = 0,
        /// What it ended with; `None`: it was ended from outside.
        end: Option<HurryEnd>,
        /// The exception that it ended with, in a line.
        error: Option<String>,
        /// Where it was then, innermost first.
        frames: Vec<SeenFrame>,
        /// The loop that keeps most with each batch, where it was not seen whole.
        growing: Option<GrowingNote>,
    }

    /// A loop that keeps more memory with each batch.
    GrowingNote {
        /// How much more.
        bytes: u64,
        /// The batches that it gave.
        given: u64,
        /// The batches that it would still give.
        left: u64,
        /// Where it is, innermost first.
        frames: Vec<SeenFrame>,
    }

    /// What a process with measures tells of them: what there is to change, and what could not be.
    MeasureNotes {
        /// How many blocks its models repeat, which could be checkpointed.
        blocks: u32 = 0,
        /// Whether a model has BatchNorm, to which the size of a batch matters.
        batch_norm: bool,
        /// The forms that its optimizers leave open: `fused`, `single`.
        forms: Vec<String>,
        /// The largest log-softmax that a plain loss on logits kept; 0 where none was large.
        logits: u64 = 0,
        /// The optimizers' state that could be on the host, in bytes.
        state: u64 = 0,
        /// Whether a model was called to be trained, whose activations could be on the host.
        trains: bool,
        /// The batch that a Trainer was given.
        trainer_batch: Option<u32>,
        /// Whether the Trainer's mean over a batch is the same when the batch is accumulated.
        counts_labels: bool,
        /// Whose loop it is, where it is not that of transformers' Trainer: `lightning`, `accelerate`.
        framework_loop("loop"): Option<String>,
        /// The greatest number of equal parts that all batches of the loop have.
        equal_parts: Option<u32>,
        /// The loop's DataLoader: the how many-th that was prepared, from 0.
        loader: Option<u32>,
        /// Why the loop's batches are not to be cut.
        why_whole: Option<String>,
        /// The gradients of the first update, as texts: the length and a product of each group of parameters.
        gradients: Vec<String>,
        /// How long a step took on the real GPU, where that was asked for.
        step_us: Option<u64>,
        /// What was asked for and not done, each beginning with "not changed".
        remarks: Vec<String>,
    }
}

words! {
    /// What a script whose loops were cut ended with.
    HurryEnd {
        /// Its own end.
        Done = "end",
        /// An exception: what it does next may need the batches that were left out.
        Error = "error",
        /// The time that it was given.
        Time = "time",
        /// A loop that has no end without more batches.
        Waits = "waits",
        /// A loop that could not be left.
        Stays = "stays",
    }
}
