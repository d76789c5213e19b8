//! Measures that make a program need less memory, taken inside it: `measures` in run.json, which python/oomph/_measures
//! acts on.

use serde::{Deserialize, Serialize};

/// What is done inside the program. The default does nothing, and has the process tell what there is to change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Measures {
    /// Autocast around the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autocast: Option<Precision>,
    /// FSDP instead of DDP.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sharded: bool,
    /// The optimizers' state in 8 bits, as bitsandbytes has it; only to plan with.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub eight_bit: bool,
    /// LoRA of this rank beside a model of transformers, as peft does it; only to plan with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapters: Option<u32>,
    /// Another form of the optimizers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<Form>,
    /// The loss on logits in another form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Gradient checkpointing of so many of so many blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpointing: Option<(u32, u32)>,
    /// Batches of a Trainer, or of another loop that can be told, in so many parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_batches: Option<u32>,
    /// The optimizers' state on the host between steps.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub host_state: bool,
    /// So many of so many parts of the saved activations on the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_activations: Option<(u32, u32)>,
    /// The DataLoader that is cut, where accelerate prepares several: the how many-th, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loader: Option<u32>,
    /// Whether the program ends before an update whose parts had means over different numbers of labels.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub equal_labels: bool,
    /// It runs on the CPU, with so many samples of the first batch, up to the first update, whose gradients are noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<u32>,
    /// Steps are timed from the first to the second of these, and then the process ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<(u32, u32)>,
}

/// What autocast computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// `torch.bfloat16`.
    Bf16,
    /// `torch.float16`, for cards that do not compute in the other.
    Fp16,
}

/// A form of the loss on logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// Some rows at a time.
    Chunks,
}

/// A form of PyTorch's optimizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// One kernel for everything: `fused=True`.
    Fused,
    /// One parameter after another: `foreach=False`.
    Single,
}

impl Form {
    /// Its name in run.json and in what the process notes.
    pub fn name(self) -> &'static str {
        match self {
            Form::Fused => "fused",
            Form::Single => "single",
        }
    }
}
