//! From a traceback to the user's own line, what the job was doing there, and the shape of failure it shows.

use super::traceback::Frame;
use crate::phase::Phase;
use crate::place::{self, Place};

/// Failures with a known shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A copy of all logits, in a loss or by `.float()`.
    LogitsCopy,
    /// The optimizer's state, which appears at its first step.
    OptimizerState,
    /// Evaluation that builds graphs.
    EvaluationGraphs,
    /// Predictions gathered on the device.
    PredictionsOnDevice,
    /// A checkpoint loaded onto the device.
    CheckpointOnDevice,
    /// A second try inside the handler of the first failure.
    RetryInHandler,
    /// A model moved to the device as a whole.
    ModelMove,
    /// Page-locked host memory.
    PinnedMemory,
}

impl Shape {
    /// The shape in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Shape::LogitsCopy => {
                "a loss over the vocabulary copies all logits, often in float32: batch × length × vocabulary × 4 bytes at once"
            }
            Shape::OptimizerState => {
                "an optimizer makes its state at its first step (Adam: two values a parameter), after forward and backward have already fitted"
            }
            Shape::EvaluationGraphs => {
                "evaluation without torch.no_grad() keeps every layer's activations for a backward pass that never comes"
            }
            Shape::PredictionsOnDevice => {
                "predictions are gathered on the device: the list grows with every batch, and joining it needs the same memory again"
            }
            Shape::CheckpointOnDevice => {
                "torch.load without map_location puts the checkpoint onto the device it was saved from, beside the model"
            }
            Shape::RetryInHandler => {
                "the retry runs inside `except`: the traceback still holds the failed step's tensors"
            }
            Shape::ModelMove => "the model's weights are moved to the device as a whole",
            Shape::PinnedMemory => "page-locked memory is taken from the host and cannot be swapped out",
        }
    }
}

/// The user's own deepest line and its code.
pub(super) fn place(frames: &[Frame]) -> (Option<Place>, String) {
    let inner = frames.iter().rev();
    let place = place::named(inner.clone().map(Frame::line));
    let is_own = |frame: &&Frame| place.as_ref().is_some_and(|place| place.line.is(frame.line()));
    let code = inner.clone().find(is_own).map_or_else(String::new, |frame| frame.code.clone());
    (place, code)
}

/// The innermost frame that says what the job was doing; evaluation wins over the forward pass inside it.
pub(super) fn phase(frames: &[Frame]) -> Option<Phase> {
    let inner = frames.iter().rev().find_map(one);
    let evaluates = frames.iter().any(|frame| {
        ["eval", "valid", "predict", "test_step", "inference"]
            .iter()
            .any(|word| frame.function.to_ascii_lowercase().contains(word))
    });
    match inner {
        None | Some(Phase::Forward) if evaluates => Some(Phase::Evaluation),
        inner => inner,
    }
}

fn one(frame: &Frame) -> Option<Phase> {
    let file = frame.file.replace('\\', "/");
    let (function, code) = (frame.function.as_str(), frame.code.as_str());
    let is = |part: &str| file.contains(part);
    if is("torch/optim/") || code.contains("optimizer.step(") || code.contains("optim.step(") {
        Some(Phase::Optimizer)
    } else if is("torch/autograd/") || code.contains(".backward(") {
        Some(Phase::Backward)
    } else if is("torch/serialization.py") && function.contains("save") || code.contains("torch.save(") {
        Some(Phase::CheckpointSave)
    } else if is("torch/serialization.py")
        || function.contains("load_state_dict")
        || code.contains("torch.load(")
        || code.contains("load_state_dict(")
    {
        Some(Phase::CheckpointLoad)
    } else if is("torch/utils/data/") || function.contains("pin_memory") {
        Some(Phase::DataLoading)
    } else if is("torch/nn/modules/module.py") && matches!(function, "_apply" | "convert" | "to" | "cuda")
        || moves(code)
    {
        Some(Phase::FirstStep)
    } else if function == "forward"
        || function.ends_with("_call_impl")
        || code.contains("model(")
        || is("torch/nn/functional.py")
    {
        Some(Phase::Forward)
    } else {
        None
    }
}

fn moves(code: &str) -> bool {
    code.contains("model.to(") || code.contains("model.cuda(") || code.contains("from_pretrained(")
}

/// The shape of failure that frames show, the innermost first.
pub(super) fn shape(frames: &[Frame], in_handler: bool) -> Option<Shape> {
    if in_handler {
        return Some(Shape::RetryInHandler);
    }
    let phase = phase(frames);
    let code = |part: &str| frames.iter().any(|frame| frame.code.contains(part));
    let function = |part: &str| frames.iter().any(|frame| frame.function.contains(part));
    let innermost = frames.last()?;
    if function("pin_memory") || code("pin_memory(") {
        return Some(Shape::PinnedMemory);
    }
    match phase {
        Some(Phase::Optimizer) => Some(Shape::OptimizerState),
        Some(Phase::CheckpointLoad) => Some(Shape::CheckpointOnDevice),
        Some(Phase::FirstStep) => Some(Shape::ModelMove),
        Some(Phase::Evaluation)
            if code("torch.cat(") || code("torch.stack(") || function("nested_concat") =>
        {
            Some(Shape::PredictionsOnDevice)
        }
        _ if innermost.function == "cross_entropy"
            || code("cross_entropy(")
            || code("logits.float()")
            || code("logits = logits.")
            || function("CrossEntropy") =>
        {
            Some(Shape::LogitsCopy)
        }
        Some(Phase::Evaluation) if !code("no_grad") => Some(Shape::EvaluationGraphs),
        _ => None,
    }
}
