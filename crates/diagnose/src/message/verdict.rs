//! A cause, how sure it is, and why.

use crate::cause::Cause;

oomph_trace::named! {
    /// How sure a verdict is.
    Confidence {
        /// A guess from what usually is behind such a message.
        Low = "low",
        /// Likely; another cause is possible.
        Medium = "medium",
        /// The message shows it.
        High = "high",
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
