//! `oomph inspect`.

use anyhow::Result;
use oomph_machine::{file, run_folder};
use oomph_report::{json, text};

use crate::args::{Common, Inspect};
use crate::output;

pub(crate) fn run(args: &Inspect, common: &Common) -> Result<()> {
    let snapshot = file::snapshot(&run_folder::only_recording(&args.file)?)?;
    output::results(&[snapshot], common, json::inspect, text::inspect::render)
}
