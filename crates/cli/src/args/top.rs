//! The command line of `oomph top`.

use clap::{Args as ClapArgs, ValueEnum};
use oomph_diagnose::results::top::Sort;

/// What stands before the help.
pub(crate) const EXAMPLES: &str = "Examples:
  oomph top                     until q
  oomph top --sort growth       the job with the least time left first
  oomph top --once              one screen as text, for scripts
  oomph top --json              the same numbers for programs";

/// What stands after it.
pub(crate) const MORE: &str = "Keys: m memory, g growth, t time, p pid; arrows and enter one job, esc back;
d dump, as `oomph dump`; ? help, q quit.
A warning stands under a job whose memory grows from step to step, if that will
reach its limit within a day.";

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Top {
    /// Print one screen as text, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// What jobs are sorted by
    #[arg(long, value_enum, default_value_t = SortBy::Memory, value_name = "WHAT")]
    pub(crate) sort: SortBy,
    /// How long to wait between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub(crate) every: f64,
}

/// What jobs are sorted by.
// The variants have no documentation of their own: with it, clap spreads the help over several screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortBy {
    Memory,
    Growth,
    Time,
    Pid,
}

impl SortBy {
    /// The same in the words of the result.
    pub(crate) fn sort(self) -> Sort {
        match self {
            SortBy::Memory => Sort::Memory,
            SortBy::Growth => Sort::Growth,
            SortBy::Time => Sort::Time,
            SortBy::Pid => Sort::Pid,
        }
    }
}
