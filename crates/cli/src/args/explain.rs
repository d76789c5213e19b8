//! What `oomph explain` takes.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Recorded;

/// What to explain, and what the user knows of it.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Explain {
    /// Snapshots, logs, saved error messages, or folders of runs; `-` is standard input. Where none is named: what is
    /// piped in, else the last run in .oomph, else what is pasted
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) recorded: Recorded,
    /// Only these sections of the text, with commas between them: verdict, memory, by-class, settings, beside-settings, check
    #[arg(long = "section", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) sections: Vec<String>,
    /// Also write the verdict on a snapshot as one self-contained page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
