//! What a finding costs: measured by running the program as it is, and with a change.

use oomph_trace::Bytes;

/// What one run showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// What stays in memory with every step, where the two runs differ in that.
    pub keeps: Option<Bytes>,
    /// The most that was in use at once.
    pub needs: Bytes,
    /// Whether it ran out of the memory that it was given.
    pub runs_out: bool,
}

/// What was measured of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// The program as it is.
    pub before: Option<Measured>,
    /// The program with the change.
    pub after: Option<Measured>,
    /// Why it is not proved; none where it is.
    pub why_not: Option<String>,
    /// The lines that were changed in the copy that ran: `-` as they are, `+` as they were tried.
    pub diff: Vec<String>,
    /// Whether that is what `--fix` does.
    pub is_fix: bool,
}

impl Proof {
    /// A finding that nothing could be measured of.
    pub fn without(why_not: impl Into<String>) -> Proof {
        Proof { why_not: Some(why_not.into()), ..Proof::default() }
    }

    /// Whether the change was seen to need less.
    pub fn is_proved(&self) -> bool {
        self.why_not.is_none()
    }
}
