//! A cause, how sure it is, and why.

use crate::cause::Cause;

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// A guess from what usually is behind such a message.
    Low,
    /// Likely; another cause is possible.
    Medium,
    /// The message shows it.
    High,
}

impl Confidence {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// What is concluded from a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The cause.
    pub cause: Cause,
    /// How sure it is.
    pub confidence: Confidence,
    /// The arithmetic behind it, a line each.
    pub why: Vec<String>,
    /// What would find out, where the message cannot tell.
    pub ask: Option<&'static str>,
}
