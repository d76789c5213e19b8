//! What people say of each kind of fault: a claim of docs/folklore.md, which has it measured.

use super::Kind;

/// The claim, by the part of its address behind the `#`; `None` where no claim is about this fault.
pub(super) fn of(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::GraphsKept => "total-loss-keeps-graphs",
        Kind::OutputsKept | Kind::EvaluationOutputs => "cpu-frees-the-gpu-tensor",
        Kind::ModelsKept => "del-model-frees-it",
        Kind::ReferenceCycle => "gc-collect-helps",
        Kind::GrowingTensor => "torch-cat-is-like-append",
        Kind::Growth => "first-step-fits",
        Kind::EvaluationGraphs => "eval-is-no-grad",
        Kind::RetryInsideExcept => "error-keeps-the-memory",
        Kind::Weights => "half-halves",
        Kind::SecondCopy => "state-dict-doubles",
        Kind::Gradients => "forward-fits-training-fits",
        Kind::OptimizerState => "adam-needs-three-times",
        Kind::AttentionMatrix => "flash-attention-is-linear",
        Kind::LargeTensor => "broadcasting-is-free",
        Kind::PreviousGraph => "last-step-is-gone",
        Kind::OutlierBatch => "longest-batch-first",
        Kind::StepTooLarge => "smaller-batch-always-suffices",
        Kind::Fragmentation => "expandable-segments-help",
        Kind::CacheUnbounded
        | Kind::EvaluationSize
        | Kind::DataOnGpu
        | Kind::Logits
        | Kind::Gathered
        | Kind::KvCache
        | Kind::OtherProcess => return None,
    })
}
