//! What `oomph fit` finds: the cheapest measures under which a script fits, and what the others would need.

use oomph_trace::cards::Card;
use oomph_trace::{Bytes, named};
use schemars::JsonSchema;
use serde::Serialize;

use super::plan::PlannedPeaks;

named! {
    /// How exactly a measure keeps what the program computes.
    Exactness {
        /// Bit for bit.
        Bits = "bit for bit",
        /// The same sums in another order or another rounding: the last digits differ.
        Rounding = "up to rounding",
        /// The same gradients up to rounding, but other random numbers for dropout.
        Dropout = "up to rounding; dropout draws other numbers",
    }
}

/// One measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Measure {
    /// What it is.
    pub what: String,
    /// How one would write it oneself.
    #[serde(rename = "do")]
    pub instruction: String,
    /// How exactly it keeps the result.
    pub exact: Exactness,
    /// The time that it costs, in thousandths of a step: an estimate.
    pub costs: u32,
}

/// Measures together, and what they lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// The measures; none for the script as it is.
    pub measures: Vec<Measure>,
    /// The peak held with them, with memory to spare; `None` where the program failed.
    pub peak_reserved: Option<Bytes>,
    /// Whether it fits.
    pub fits: bool,
    /// How long a step took with them on the GPU that is there, in microseconds; of those that were timed.
    pub step_us: Option<u64>,
}

impl Combination {
    /// The time that it costs, in thousandths of a step.
    pub fn costs(&self) -> u32 {
        self.measures.iter().map(|measure| measure.costs).sum()
    }
}

/// The answer.
#[derive(Clone, Debug)]
pub struct FitResult {
    /// The program, as it was named.
    pub script: String,
    /// The card.
    pub card: Card,
    /// What PyTorch may hold, where that is less than the card has.
    pub limit: Option<Bytes>,
    /// What PyTorch may hold, all told.
    pub allowed: Bytes,
    /// The peaks of the script as it is.
    pub peaks: Option<PlannedPeaks>,
    /// Everything that was tried, by what it costs.
    pub tried: Vec<Combination>,
    /// Which of them is taken: of those that fit the quickest, where they were timed; else the one that should cost least.
    pub chosen: Option<usize>,
    /// What could be done besides, by hand, and why it is not done.
    pub offered: Vec<String>,
    /// What the answer does not know.
    pub caveats: Vec<String>,
    /// Why there is no answer.
    pub why_not: Option<String>,
}

impl FitResult {
    /// What is taken.
    pub fn choice(&self) -> Option<&Combination> {
        self.tried.get(self.chosen?)
    }

    /// The least that anything needs that was tried.
    pub fn floor(&self) -> Option<&Combination> {
        self.tried
            .iter()
            .filter(|tried| tried.peak_reserved.is_some())
            .min_by_key(|tried| tried.peak_reserved)
    }
}
