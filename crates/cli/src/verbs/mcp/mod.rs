//! `oomph mcp`: the verbs as tools for coding agents, by the Model Context Protocol over standard input and output.
//!
//! In reading order: messages as they are read and written, the versions of the protocol, the tools, their arguments, the
//! calls under way, and the server, which answers each message.

mod message;
mod version;
mod tools;
mod arguments;
mod calls;
mod server;

use std::io::{self, IsTerminal};

use anyhow::Result;

use crate::args::{Common, UsageError};
use crate::output;

/// Answers until standard input ends.
pub(crate) fn run(common: &Common) -> Result<()> {
    if common.output.is_some() {
        return Err(UsageError("mcp has no result to write to a file: leave --output out".to_owned()).into());
    }
    if io::stdin().is_terminal() && !common.quiet {
        output::complain("oomph: waiting for a coding agent, which starts this itself; ^C ends it");
    }
    server::serve(io::stdin().lock())
}
