//! What `oomph diff` takes.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use oomph_diagnose::results::diff::Allowance;

/// What its help begins with.
pub(crate) const EXAMPLES: &str = "Examples:
  oomph diff before.pickle after.pickle      what grew, and at which line
  oomph diff .oomph/run-a .oomph/run-b       two runs, rank by rank
  oomph diff a.pickle b.pickle --fail-over 2%    a gate for CI";

/// What its help ends with.
pub(crate) const MORE: &str = "Judged is what the jobs need: both are replayed from an empty cache under the
settings of A, without a limit. What a warm-up left makes no difference.
Exit code: 0 done, 1 B needs more than --fail-over allows, 3 cannot tell.";

/// Two recordings, and how much more the second may need.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Diff {
    /// The recording before: a memory snapshot, or the folder of a run
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// The recording after
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// Exit with 1 if B needs more than A by over this: a share (2%) or a size (200MiB)
    #[arg(long, value_name = "SHARE|SIZE")]
    pub(crate) fail_over: Option<Allowance>,
}
