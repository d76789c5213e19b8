//! The command line of `oomph plan`. Everything after the script's name belongs to the script.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use oomph_trace::Bytes;

use super::Script;

pub(super) const EXAMPLES: &str = "Examples:
  oomph plan train.py --batch 64                    on every card there is
  oomph plan --gpu T4 train.py --batch 64           on this one
  oomph plan --gpu L4 --vary --batch train.py       the largest batch that fits";
pub(super) const USAGE: &str = "oomph plan [OPTIONS] SCRIPT|-m MODULE|-c CODE [ARGS]...";
pub(super) const MORE: &str =
    "The script runs unmodified, in seconds, on a GPU that is not there: nothing is computed.
Exit code: 0 it fits, 1 it does not, 3 cannot tell; of the table: 0 if it fits any card.";

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) script: Script,
    /// The card, such as T4 or A100-80; may be repeated. A table of all where none is named
    #[arg(long, value_name = "NAME", help_heading = "Card")]
    pub(crate) gpu: Vec<String>,
    /// A card with so much memory
    #[arg(long, value_name = "SIZE", conflicts_with = "gpu", help_heading = "Card")]
    pub(crate) memory: Option<Bytes>,
    /// Its compute capability, such as 8.9
    #[arg(long, value_name = "X.Y", requires = "memory", value_parser = capability, help_heading = "Card")]
    pub(crate) capability: Option<(u8, u8)>,
    /// What PyTorch may hold, where that is less than the card has
    #[arg(long, value_name = "SIZE", help_heading = "Card")]
    pub(crate) limit: Option<Bytes>,
    /// Set one of PyTorch's allocator settings, beside those you have; may be repeated
    #[arg(long = "set", value_name = "KEY:VALUE")]
    pub(crate) settings: Vec<String>,
    /// Find the largest value of this flag of the script that fits
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub(crate) vary: Option<String>,
    /// Try changes (autocast, checkpointing, …) also where it fits
    #[arg(long, conflicts_with = "no_options")]
    pub(crate) options: bool,
    /// Try no changes
    #[arg(long)]
    pub(crate) no_options: bool,
    /// Stop after so many optimizer steps, not when the peak repeats
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
    /// How long one run of the script may take
    #[arg(long, value_name = "SECONDS", default_value_t = oomph_launch::plan::planner::LONGEST)]
    pub(crate) timeout: u64,
    /// Also write a picture of memory over one step, as one self-contained page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// The Python to run the script with, instead of the active environment's
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
}

fn capability(text: &str) -> Result<(u8, u8), String> {
    let parsed =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parsed.ok_or_else(|| "write it as 8.9".to_owned())
}
