//! What `oomph plan` finds: whether a script fits a card, and what would make it fit.

use crate::classes::ByClass;
use crate::modules::ModuleNode;
use crate::phase::Phase;
use oomph_trace::cards::Card;
use oomph_trace::{Bytes, named};
use schemars::JsonSchema;
use serde::Serialize;

/// How the caveat begins of a card that another stands for.
pub const ALIKE: &str = "seen on a card of another architecture (name it with --gpu to see it on its own)";

/// How the caveat begins of a job that would hold more than there is.
pub const GIVES_BACK: &str = "it fits only because PyTorch gives its cache back";

/// The peaks of PyTorch's allocator, as it counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlannedPeaks {
    /// What was asked for.
    pub requested: Bytes,
    /// After rounding.
    pub allocated: Bytes,
    /// Held from the driver.
    pub reserved: Bytes,
}

/// The moment of the peak.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PlannedMoment")]
pub struct PlannedAt {
    /// The line's file.
    pub file: Option<String>,
    /// Its number.
    pub line: Option<u32>,
    /// What the program was doing.
    #[schemars(extend("enum" = ["forward", "backward", "optimizer", "evaluation", null]))]
    pub phase: Option<Phase>,
    /// In which step, counted from 1.
    pub step: Option<u64>,
    /// The library's line, where that is another.
    pub within: Option<LibraryLine>,
}

/// A line of a library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LibraryLine {
    /// Its file.
    pub file: String,
    /// Its number.
    pub line: u32,
}

/// A change, or several together, and what they lead to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedOption {
    /// What to change; several are joined by " + ".
    pub change: String,
    /// What to type or write, one for each change.
    #[serde(rename = "do")]
    pub instructions: Vec<String>,
    /// How it is known.
    pub how: How,
    /// The peak held with it, with memory to spare; `None` where the program failed with the change.
    pub peak_reserved: Option<Bytes>,
    /// With the context.
    #[serde(rename = "process_bytes")]
    pub process: Option<Bytes>,
    /// Whether it fits.
    pub fits: Option<bool>,
    /// With `--vary`, the largest value of the flag that fits with it; null where that was not found out.
    pub largest: Option<PlannedLargest>,
}

/// The largest value of a flag that fits, as far as a few runs show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedLargest {
    /// The largest that was run and fits; a few beyond the next may. `None`: none that was run does.
    pub value: Option<u64>,
    /// Whether the runs ended before the next one was known not to fit.
    #[serde(rename = "open")]
    pub is_open: bool,
}

/// The least that the program was seen to need, where nothing makes it fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedLeast {
    /// With which changes, joined by " + "; empty: with none.
    pub change: String,
    /// What to type or write, one for each change.
    #[serde(rename = "do")]
    pub instructions: Vec<String>,
    /// With `--vary`, at which value of the flag; null: as on the command line.
    pub value: Option<u64>,
    /// The peak held.
    pub peak_reserved: Bytes,
    /// With the context.
    #[serde(rename = "process_bytes")]
    pub process: Bytes,
}

named! {
    /// How a number is known.
    How {
        /// The program was run again on the phantom.
        Planned = "planned",
        /// Its allocations were replayed.
        Replayed = "replayed",
    }
}

/// The largest value of a flag that fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedVary {
    /// The script's flag.
    pub flag: String,
    /// The value on the command line, if it is there.
    pub asked: Option<u64>,
    /// A value that fits where the next does not; a few beyond that may. `None`: not even 1 does.
    pub largest: Option<u64>,
    /// The peak held at that value.
    pub peak_reserved: Option<Bytes>,
    /// Whether the search ended before a value that does not fit was found.
    #[serde(rename = "open")]
    pub is_open: bool,
    /// The values that were run, from the smallest.
    pub values: Vec<PlannedValue>,
}

/// A value of a flag that was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedValue {
    /// The value.
    pub value: u64,
    /// The peak held with it, with memory to spare.
    pub peak_reserved: Bytes,
    /// With the context.
    #[serde(rename = "process_bytes")]
    pub process: Bytes,
    /// Whether it fits.
    pub fits: bool,
}

impl PlannedVary {
    /// The micro-batch and the number of accumulation steps that keep what was asked for: the largest divisor of it
    /// that fits.
    pub fn accumulation(&self) -> Option<(u64, u64)> {
        let (asked, largest) = (self.asked?, self.largest?);
        let micro = (1..=largest.min(asked)).rev().find(|micro| asked % micro == 0)?;
        Some((micro, asked / micro))
    }
}

/// The ranks of a distributed job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedWorld {
    /// How many ranks there are.
    pub size: u32,
    /// The rank that the answer is of: the one that needs most of those that were run.
    pub worst: u32,
    /// Those that were run.
    pub ranks: Vec<PlannedRank>,
    /// How many of NCCL's communicators the worst one makes.
    pub communicators: u32,
}

/// A rank that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedRank {
    /// Its number.
    pub rank: u32,
    /// Its stage of a pipeline, from 0.
    pub stage: Option<u32>,
    /// The peak of what it asked for; null, like the next three, where it failed.
    pub peak_requested: Option<Bytes>,
    /// The peak after rounding.
    pub peak_allocated: Option<Bytes>,
    /// The peak of what it held from the driver.
    pub peak_reserved: Option<Bytes>,
    /// With the context and NCCL.
    #[serde(rename = "process_bytes")]
    pub process: Option<Bytes>,
}

/// The answer for one card.
#[derive(Clone, Debug)]
pub struct PlanResult {
    /// The program, as it was named.
    pub script: String,
    /// The card that was asked about.
    pub card: Card,
    /// The card that was simulated when the program ran, where that is another of its kind.
    pub seen_on: Option<String>,
    /// What NCCL takes of it, by an estimate.
    pub nccl: Bytes,
    /// What DDP's first buckets, or the gathered parameters of two of FSDP1's units, may hold more than the peaks say.
    pub late: Bytes,
    /// The least and the most that may be held at the peak: by where the driver puts segments, and by what convolutions that
    /// were not measured work in.
    pub held_between: Option<(Bytes, Bytes)>,
    /// The ranks of a distributed job; `None` where it is none.
    pub world: Option<PlannedWorld>,
    /// What PyTorch may hold, where less than the card has was asked for.
    pub limit: Option<Bytes>,
    /// `None` where the program came to no use of the card.
    pub peaks: Option<PlannedPeaks>,
    /// Whether it fits; `None`: cannot tell.
    pub fits: Option<bool>,
    /// Whether it cannot be told because it fits with the smallest context, and not with the largest.
    pub is_close: bool,
    /// How often PyTorch has to give its cache back to fit.
    pub retries: u64,
    /// The moment of the peak.
    pub at: PlannedAt,
    /// What was in use then, by class; adds up to the peak allocated.
    pub by_class: ByClass,
    /// The same by module; empty where no module was seen.
    pub by_module: Vec<ModuleNode>,
    /// The most of the host's memory that PyTorch pins; `None` where its version does not tell.
    pub pinned: Option<Bytes>,
    /// Optimizer steps that were seen.
    pub steps: u64,
    /// Changes, those that fit first.
    pub options: Vec<PlannedOption>,
    /// The least it needs with what was tried, where nothing makes it fit.
    pub least: Option<PlannedLeast>,
    /// The search over a flag.
    pub vary: Option<PlannedVary>,
    /// What the answer does not know.
    pub caveats: Vec<String>,
    /// Why there is no answer.
    pub why_not: Option<String>,
}

impl PlanResult {
    /// What the process holds at its peak: PyTorch's memory and what lies beside it.
    pub fn process(&self) -> Option<Bytes> {
        self.peaks.map(|peaks| peaks.reserved + self.beside())
    }

    /// The least and the most that the process may hold at its peak.
    pub fn process_between(&self) -> Option<(Bytes, Bytes)> {
        let reserved = self.peaks?.reserved;
        let (least, most) = self.held_between.unwrap_or((reserved, reserved));
        Some((least + self.card.context.least + self.nccl, most + self.beside()))
    }

    /// What the process holds beside what was seen of PyTorch's memory: the context, and what NCCL takes and keeps.
    pub fn beside(&self) -> Bytes {
        self.card.context.most + self.nccl + self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accumulation_keeps_the_effective_batch() {
        let check = |asked, largest| {
            let vary = PlannedVary {
                flag: "--batch".to_owned(),
                asked,
                largest,
                peak_reserved: None,
                is_open: false,
                values: Vec::new(),
            };
            vary.accumulation()
        };
        assert_eq!(check(Some(64), Some(23)), Some((16, 4)));
        assert_eq!(check(Some(64), Some(64)), Some((64, 1)));
        assert_eq!(check(Some(64), Some(100)), Some((64, 1)));
        assert_eq!(check(Some(7), Some(6)), Some((1, 7)));
        assert_eq!(check(None, Some(6)), None);
        assert_eq!(check(Some(8), None), None);
    }
}
