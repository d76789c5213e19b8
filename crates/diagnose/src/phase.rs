//! What a program does at a moment: the one list, for recordings and for tracebacks.

/// What a program does at a moment. A recorder marks the first four; a traceback may show any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// A forward pass; in a recording, whatever is none of the others once the card is in use.
    Forward,
    /// A backward pass.
    Backward,
    /// An optimizer's step.
    Optimizer,
    /// The model is set to evaluation.
    Evaluation,
    /// A checkpoint is read.
    CheckpointLoad,
    /// A checkpoint is written.
    CheckpointSave,
    /// The model is moved to the device.
    FirstStep,
    /// A batch is made ready.
    DataLoading,
}

impl Phase {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Optimizer => "optimizer",
            Phase::Evaluation => "evaluation",
            Phase::CheckpointLoad => "checkpoint_load",
            Phase::CheckpointSave => "checkpoint_save",
            Phase::FirstStep => "first_step",
            Phase::DataLoading => "data_loading",
        }
    }
}
