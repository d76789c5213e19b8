//! What a verdict consists of.

use oomph_trace::{Bytes, named};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::advice::Basis;
use crate::cause::Cause;
use crate::place::Line;

named! {
    /// What went wrong, in people's own words; finer than the cause.
    Kind {
        /// Results of past steps are kept with the graphs that made them.
        GraphsKept = "graphs_kept",
        /// Results of past steps are kept.
        OutputsKept = "outputs_kept",
        /// A cache grows without bound.
        CacheUnbounded = "cache_unbounded",
        /// Models or optimizers of past rounds are kept.
        ModelsKept = "models_kept",
        /// Objects that refer to each other wait for the garbage collector.
        ReferenceCycle = "reference_cycle",
        /// A tensor is replaced by a longer one with every step.
        GrowingTensor = "growing_tensor",
        /// Memory grows, and nothing tells who keeps it.
        Growth = "growth",
        /// Evaluation records graphs that nobody needs.
        EvaluationGraphs = "evaluation_with_graphs",
        /// Evaluation collects its results on the GPU.
        EvaluationOutputs = "evaluation_outputs_kept",
        /// One batch of evaluation is too large.
        EvaluationSize = "evaluation_too_large",
        /// The retry after an error runs while the error keeps what failed.
        RetryInsideExcept = "retry_inside_except",
        /// Weights alone do not fit.
        Weights = "weights",
        /// Weights are on the GPU a second time.
        SecondCopy = "second_copy",
        /// Data is on the GPU as a whole, and not a batch at a time.
        DataOnGpu = "data_on_gpu",
        /// Gradients do not fit beside the weights.
        Gradients = "gradients",
        /// The optimizer's state does not fit.
        OptimizerState = "optimizer_state",
        /// A matrix of every position with every other.
        AttentionMatrix = "attention_matrix",
        /// Scores for a whole vocabulary.
        Logits = "logits",
        /// Many results are gathered into one tensor.
        Gathered = "gathered_at_once",
        /// One tensor is larger than all else.
        LargeTensor = "one_large_tensor",
        /// The graph of the step before is alive while the next one is made.
        PreviousGraph = "previous_step_alive",
        /// One batch is much larger than those before it.
        OutlierBatch = "outlier_batch",
        /// Generation keeps keys and values of every token of every sequence.
        KvCache = "kv_cache",
        /// A step needs more than there is.
        StepTooLarge = "step_too_large",
        /// Free memory lies in pieces.
        Fragmentation = "fragmentation",
        /// Another process holds the card.
        OtherProcess = "other_process",
    }
}

named! {
    /// What a line has to do with the failure.
    Role {
        /// It made the memory that is kept.
        Made = "made",
        /// It keeps the memory.
        Keeps = "keeps",
        /// It asked for what was refused.
        Asked = "asked",
    }
}

/// How long the job lives with a cure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lives {
    /// Nothing in the recording ends it again.
    ForGood,
    /// So many steps more.
    Steps(u64),
    /// The recording does not tell.
    Unknown,
}

impl Lives {
    /// In words.
    pub fn words(self) -> String {
        match self {
            Lives::ForGood => "for good".to_owned(),
            Lives::Steps(1) => "1 more step".to_owned(),
            Lives::Steps(steps) => format!("{steps} more steps"),
            Lives::Unknown => "not known".to_owned(),
        }
    }
}

impl Serialize for Lives {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Lives::ForGood => serializer.serialize_str("for good"),
            Lives::Steps(steps) => serializer.serialize_u64(*steps),
            Lives::Unknown => serializer.serialize_none(),
        }
    }
}

/// A line to blame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Culprit {
    /// The line.
    #[serde(flatten)]
    pub line: Line,
    /// What it made, keeps or asked for.
    pub bytes: Bytes,
    /// What it has to do with the failure.
    pub role: Role,
    /// What the line says, where its file is there.
    pub code: Option<String>,
}

/// A change, and how long the job lives with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cure {
    /// What to do.
    #[serde(rename = "do")]
    pub action: String,
    /// How it is known.
    pub how: Basis,
    /// `"for good"`, or a number of steps more; null where the recording does not tell.
    #[schemars(with = "Option<String>")]
    pub lives: Lives,
    /// What is needed at the failure with it, where that can be computed.
    pub needs_bytes: Option<Bytes>,
    /// Why, with the numbers.
    pub why: String,
}

/// What it was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Not {
    /// The cause that it was not.
    pub cause: Cause,
    /// Why not, in words.
    pub why: String,
}

/// The verdict on a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The cause.
    pub cause: Cause,
    /// The same, finer.
    pub kind: Kind,
    /// The cause in a sentence, with its numbers.
    pub claim: String,
    /// The lines to blame, the first one most.
    pub culprits: Vec<Culprit>,
    /// What to do, the best first.
    pub cures: Vec<Cure>,
    /// The causes that it was not.
    pub not: Vec<Not>,
    /// The same for the same fault: the kind and the lines, without numbers.
    pub fingerprint: String,
    /// What people say of such a fault, measured: the part of docs/folklore.md behind the `#`.
    pub folklore: Option<&'static str>,
}

impl Verdict {
    /// A verdict without lines and cures.
    pub(super) fn new(cause: Cause, kind: Kind, claim: String) -> Verdict {
        let (culprits, cures, not) = Default::default();
        Verdict { cause, kind, claim, culprits, cures, not, fingerprint: String::new(), folklore: None }
    }

    pub(super) fn blame(mut self, lines: impl IntoIterator<Item = Culprit>) -> Verdict {
        for culprit in lines {
            if self.culprits.iter().all(|known| known.line != culprit.line) {
                self.culprits.push(culprit);
            }
        }
        self
    }

    pub(super) fn cure(
        mut self,
        action: impl Into<String>,
        how: Basis,
        lives: Lives,
        why: impl Into<String>,
    ) -> Verdict {
        let (action, why) = (action.into(), why.into());
        self.cures.push(Cure { action, how, lives, needs_bytes: None, why });
        self
    }

    /// What the last cure needs.
    pub(super) fn needs(mut self, bytes: Bytes) -> Verdict {
        if let Some(cure) = self.cures.last_mut() {
            cure.needs_bytes = Some(bytes);
        }
        self
    }

    /// What has to be done beside the last cure where it is not enough alone: then the job lives for good.
    pub(super) fn and_also(mut self, action: &str, needs: Bytes) -> Verdict {
        if let Some(cure) = self.cures.last_mut() {
            cure.action = format!("{}; and also {action}", cure.action);
            cure.why = format!("{}; with both, {needs}", cure.why);
            cure.needs_bytes = Some(needs);
            cure.lives = Lives::ForGood;
        }
        self
    }

    pub(super) fn not(mut self, cause: Cause, why: impl Into<String>) -> Verdict {
        self.not.push(Not { cause, why: why.into() });
        self
    }
}
