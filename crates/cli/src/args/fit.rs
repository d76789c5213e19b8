//! The command line of `oomph fit`. Everything after the script's name belongs to the script.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use oomph_launch::fit::request::Family;
use oomph_trace::Bytes;

use super::Script;

pub(super) const EXAMPLES: &str = "Examples:
  oomph fit --gpu T4 train.py --batch 64          find them, and run with them
  oomph fit --limit 15GiB --dry-run train.py      only say what they are
  oomph fit --gpu L4 --vary --batch --accumulate --accum train.py --batch 64";
pub(super) const USAGE: &str = "oomph fit [OPTIONS] SCRIPT|-m MODULE|-c CODE [ARGS]...";
pub(super) const MORE: &str =
    "Measures: settings of the allocator, forms of the optimizer, the loss in chunks,
gradient checkpointing of as few blocks as it takes, micro-batches, optimizer
state and saved activations on the host. They are tried on a GPU that is not
there; where there is one, those that fit are timed on it.
Exit code: the script's own; 1 if nothing makes it fit, 3 if nobody can tell.
With --dry-run: 0 if it fits.";

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
    #[arg(long, value_name = "MEASURE", value_parser = family())]
    pub(crate) without: Vec<Family>,
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

/// The families of measures by their names.
fn family() -> impl TypedValueParser<Value = Family> {
    let named = Family::ALL.map(|family| {
        let (name, what) = family.words();
        PossibleValue::new(name).help(what)
    });
    PossibleValuesParser::new(named).try_map(|name| {
        Family::ALL.into_iter().find(|family| family.words().0 == name).ok_or("no such measures")
    })
}
