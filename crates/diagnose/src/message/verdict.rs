//! A cause, how sure it is, and why.

/// Why a job ran out of memory, as far as a message can show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// More was needed than there is.
    Capacity,
    /// There was enough, in pieces that could not serve the request.
    Fragmentation,
    /// Memory grew until it was full.
    Leak,
    /// Somebody else holds the device's memory.
    OtherProcess,
    /// The computer's own memory ran out, not the device's.
    HostMemory,
    /// An error that hides that memory ran out, or one that only looks like it.
    Disguised,
    /// The message does not tell.
    Unknown,
}

impl Cause {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Capacity => "capacity",
            Cause::Fragmentation => "fragmentation",
            Cause::Leak => "leak",
            Cause::OtherProcess => "other_process",
            Cause::HostMemory => "host_memory",
            Cause::Disguised => "disguised",
            Cause::Unknown => "unknown",
        }
    }
}

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

impl Verdict {
    pub(super) fn new(cause: Cause, confidence: Confidence, why: Vec<String>) -> Verdict {
        Verdict { cause, confidence, why, ask: None }
    }

    pub(super) fn asking(mut self, ask: &'static str) -> Verdict {
        self.ask = Some(ask);
        self
    }
}
