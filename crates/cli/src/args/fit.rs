//! The command line of `oomph fit`. Everything after the script's name belongs to the script.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use oomph_trace::Bytes;

use super::Script;

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Fit {
    #[command(flatten)]
    pub(crate) script: Script,
    /// The card, such as T4 or A100-80
    #[arg(long, value_name = "NAME", required_unless_present = "limit", help_heading = "Card")]
    pub(crate) gpu: Option<String>,
    /// What PyTorch may hold
    #[arg(long, value_name = "SIZE", help_heading = "Card")]
    pub(crate) limit: Option<Bytes>,
    /// Only say what would be done, do not run the script
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Search again, though the answer is known from the last time
    #[arg(long)]
    pub(crate) again: bool,
    /// Take the estimates of the time, do not time what fits on the GPU that is there
    #[arg(long)]
    pub(crate) estimate: bool,
    /// Run it on a card that is not there too: memory is as on the card, results are not
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) phantom: bool,
    /// The script's flag for its batch, for micro-batches
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true, requires = "accumulate")]
    pub(crate) vary: Option<String>,
    /// The script's flag for the number of batches whose gradients it accumulates
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true, requires = "vary")]
    pub(crate) accumulate: Option<String>,
    /// Do not take these measures; may be repeated
    #[arg(long, value_name = "MEASURE", value_enum)]
    pub(crate) without: Vec<Without>,
    /// Set one of PyTorch's allocator settings, beside those you have; may be repeated
    #[arg(long = "set", value_name = "KEY:VALUE")]
    pub(crate) settings: Vec<String>,
    /// Try so many optimizer steps, not until the peak repeats
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
    /// How long one trial may take
    #[arg(long, value_name = "SECONDS", default_value_t = oomph_launch::plan::planner::LONGEST)]
    pub(crate) timeout: u64,
    /// The Python to run the script with, instead of the active environment's
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
}

/// A family of measures.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Without {
    /// Settings of the allocator
    Settings,
    /// Forms of the optimizer
    Optimizer,
    /// The loss in chunks
    Loss,
    /// Gradient checkpointing
    Checkpointing,
    /// Micro-batches
    MicroBatches,
    /// The optimizers' state on the host
    HostState,
    /// Saved activations on the host
    HostActivations,
}
