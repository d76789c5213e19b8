//! What `oomph lint` takes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use oomph_launch::prove::prover::LONGEST;
use oomph_trace::Bytes;

/// What its help begins with.
pub(crate) const EXAMPLES: &str = "Examples:
  oomph lint                          every Python file and notebook below here
  oomph lint train.py --fix           mend what can be mended safely
  oomph lint --prove train.py         run it with no GPU, and measure what each
                                      finding costs
  oomph lint --prove train.py -- --epochs 1
  oomph lint --output-format github   for a workflow of GitHub";

/// What its help ends with.
pub(crate) const MORE: &str = "It reads, and runs nothing, but for --prove: that runs the script, on a GPU
that is not there, as it is and with a change for each finding. Nothing is
computed there and your file stays as it is; whatever else the script does
(files, network) is done each time.

`oomph rule OOL001` says more of a rule; a line is left alone with
`# oomph: ignore[OOL001]`. Options may be kept in pyproject.toml, under
[tool.oomph.lint] (ignore = [\"OOL010\"]).
Exit code: 0 nothing found, 1 something found, 2 a file cannot be read.";

/// Files to read, and what to do with what is found.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Lint {
    /// Python files, notebooks, or folders of them; `-` reads standard input
    #[arg(value_name = "PATH", default_value = ".")]
    pub(crate) paths: Vec<PathBuf>,
    /// Mend what can be mended without changing what the program computes
    #[arg(long)]
    pub(crate) fix: bool,
    /// Only these rules, such as OOL001; may be repeated
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Not these rules; may be repeated
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Leave out files and folders whose path ends like this; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) exclude: Vec<String>,
    /// How to say it
    #[arg(long, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    pub(crate) output_format: Form,
    /// Read standard input, the same as the path `-`
    #[arg(long)]
    pub(crate) stdin: bool,
    /// What standard input is called
    #[arg(long, value_name = "NAME", default_value = "stdin.py")]
    pub(crate) stdin_filename: String,
    /// Exit with 0 whatever is found
    #[arg(long)]
    pub(crate) exit_zero: bool,
    /// Run this one script with no GPU and measure what each finding costs
    #[arg(long, conflicts_with_all = ["fix", "stdin"], help_heading = "Proof")]
    pub(crate) prove: bool,
    /// What PyTorch may hold: shows what happens where memory runs out
    #[arg(long, value_name = "SIZE", requires = "prove", help_heading = "Proof")]
    pub(crate) limit: Option<Bytes>,
    /// How long one run of the script may take
    #[arg(long, value_name = "SECONDS", requires = "prove", default_value_t = LONGEST, help_heading = "Proof")]
    pub(crate) timeout: u64,
    /// The Python to run the script with, instead of the active environment's
    #[arg(long, value_name = "PATH", requires = "prove", help_heading = "Proof")]
    pub(crate) python: Option<PathBuf>,
    /// The script's arguments
    #[arg(last = true, requires = "prove", help_heading = "Proof")]
    pub(crate) args: Vec<OsString>,
}

/// The form of the findings.
// The variants have no documentation of their own: with it, clap spreads the help over several screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Text,
    Json,
    Sarif,
    Github,
}
