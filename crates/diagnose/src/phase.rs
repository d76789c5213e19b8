//! What a program does at a moment: the one list, for recordings and for tracebacks.

use oomph_trace::named;

named! {
    /// What a program does at a moment. A recorder marks the first four; a traceback may show any of them.
    Phase {
        /// A forward pass; in a recording, whatever is none of the others once the card is in use.
        Forward = "forward",
        /// A backward pass.
        Backward = "backward",
        /// An optimizer's step.
        Optimizer = "optimizer",
        /// The model is set to evaluation.
        Evaluation = "evaluation",
        /// A checkpoint is read.
        CheckpointLoad = "checkpoint_load",
        /// A checkpoint is written.
        CheckpointSave = "checkpoint_save",
        /// The model is moved to the device.
        FirstStep = "first_step",
        /// A batch is made ready.
        DataLoading = "data_loading",
    }
}
