//! The words of `oomph view`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Recorded;

pub(super) const EXAMPLES: &str = "Examples:
  oomph view snapshot.pickle                 serve the page, open a browser
  oomph view .oomph/last                     every rank of the last run
  oomph view before.pickle after.pickle      what grew, by line
  oomph view snapshot.pickle --html memory.html";

pub(super) const MORE: &str = "The page is served to this machine only, at an address with a secret in it; ^C
ends it. On another machine: oomph view FILE --port 8000 there, then here
  ssh -L 8000:127.0.0.1:8000 HOST
and open the address that was printed. Nothing is loaded from any network.";

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct View {
    /// Snapshots, folders of runs, or folders of snapshots; where none is named, the last run in .oomph
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) recorded: Recorded,
    /// Write the page as one self-contained file instead of serving it
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// The port to serve at; a free one if not said
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true,
        conflicts_with = "html"
    )]
    pub(crate) port: u16,
    /// Print the address and open no browser
    #[arg(long, conflicts_with = "html")]
    pub(crate) no_browser: bool,
}
