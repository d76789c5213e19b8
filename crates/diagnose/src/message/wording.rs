//! One message found in a text, before it is judged.

use std::ops::Range;

use super::facts::{Facts, Framework};
use super::verdict::Confidence;
use crate::cause::Cause;

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Where it is in the excerpt's text.
    pub span: Range<usize>,
    pub framework: Framework,
    pub facts: Facts,
    /// What the wording alone says.
    pub told: Option<Told>,
    pub kind: Kind,
    /// The versions that write it this way.
    pub writer: Option<&'static str>,
}

/// What kind of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An allocator's refusal with its books: the numbers say why.
    Numbers,
    /// A refusal by PyTorch's cudaMallocAsync backend, whose cache is not in the message.
    Async,
    /// A refusal of Apple's Metal backend, against a limit.
    Mps,
    /// A failure whose wording says all there is.
    Wording,
    /// A line that other messages explain better, if there are any near.
    Bare,
    /// No failure: something was tried and done without.
    Warning,
}

/// A cause that the wording gives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub cause: Cause,
    pub confidence: Confidence,
    pub why: &'static str,
}

impl Message {
    pub(super) fn new(span: Range<usize>, framework: Framework, kind: Kind) -> Message {
        Message { span, framework, facts: Facts::default(), told: None, kind, writer: None }
    }

    pub(super) fn told(mut self, cause: Cause, confidence: Confidence, why: &'static str) -> Message {
        self.told = Some(Told { cause, confidence, why });
        self
    }
}
