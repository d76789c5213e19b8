//! The command line of `oomph plan`. Everything after the script's name belongs to the script.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use oomph_trace::Bytes;

use super::Script;
use super::serve::Serve;

pub(super) const EXAMPLES: &str = "Examples:
  oomph plan train.py --batch 64                    on every card there is
  oomph plan --gpu T4 train.py --batch 64           on this one
  oomph plan --gpu L4 --vary --batch train.py       the largest batch that fits
  oomph plan --gpu H100 --nproc 8 train.py          each of 8 ranks
  oomph plan --gpu H100 torchrun --nproc-per-node 8 train.py
  oomph plan --serve config.json --gpu L4           how many sequences fit";
pub(super) const USAGE: &str = "oomph plan [OPTIONS] SCRIPT|-m MODULE|-c CODE [ARGS]...
       oomph plan [OPTIONS] --serve CONFIG";
pub(super) const MORE: &str =
    "The script runs unmodified, in seconds, on a GPU that is not there: nothing is computed.
Exit code: 0 it fits, 1 it does not, 3 cannot tell; of the table: 0 if it fits any card.";

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) script: Script,
    #[command(flatten)]
    pub(crate) serve: Serve,
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
    /// Ranks of a node: plan one rank of a distributed job, without the others
    #[arg(long, visible_alias = "nproc-per-node", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Ranks")]
    pub(crate) nproc: Option<u32>,
    /// Nodes
    #[arg(long, value_name = "N", requires = "nproc", value_parser = clap::value_parser!(u32).range(1..=65536), help_heading = "Ranks")]
    pub(crate) nnodes: Option<u32>,
    /// The rank to run, instead of those that may differ; may be repeated
    #[arg(long, value_name = "N", help_heading = "Ranks")]
    pub(crate) rank: Vec<u32>,
    /// Set one of PyTorch's allocator settings, beside those you have; may be repeated
    #[arg(long = "set", value_name = "KEY:VALUE")]
    pub(crate) settings: Vec<String>,
    /// Find the largest value of this flag of the script that fits, as it is and under each change
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
