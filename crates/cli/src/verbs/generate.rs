//! `oomph completions` and `oomph man`: made from the command line's own definition.

use anyhow::Result;
use clap::CommandFactory;

use crate::args::{Args, Common};
use crate::output;

pub(crate) fn completions(shell: clap_complete::Shell, common: &Common) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "oomph", &mut script);
    output::write(&String::from_utf8_lossy(&script), common)
}

pub(crate) fn man(common: &Common) -> Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Args::command()).render(&mut page)?;
    output::write(&String::from_utf8_lossy(&page), common)
}
