//! What `oomph export` takes.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Source;

/// What its help begins with.
pub(crate) const EXAMPLES: &str = "Examples:
  oomph export snapshot.pickle --perfetto memory.pftrace   for ui.perfetto.dev
  oomph export .oomph/last --speedscope peak.json          for speedscope.app
  oomph export snapshot.pickle --parquet memory.parquet    for DuckDB";

/// How it is used; clap would list every format.
pub(crate) const USAGE: &str = "oomph export [OPTIONS] <FILE>";

/// A recording, and what to make of it.
#[derive(ClapArgs, Clone, Debug)]
#[command(group = clap::ArgGroup::new("form").required(true).multiple(true))]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Memory over time by class, with steps and phases: a trace for Perfetto
    #[arg(long, value_name = "OUT", group = "form")]
    pub(crate) perfetto: Option<PathBuf>,
    /// What was in use at the peak: folded stacks, for any flame graph
    #[arg(long, value_name = "OUT", group = "form")]
    pub(crate) folded: Option<PathBuf>,
    /// The same for speedscope
    #[arg(long, value_name = "OUT", group = "form")]
    pub(crate) speedscope: Option<PathBuf>,
    /// Every allocation as a row of a table
    #[arg(long, value_name = "OUT", group = "form")]
    pub(crate) parquet: Option<PathBuf>,
}
