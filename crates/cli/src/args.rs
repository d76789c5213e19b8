//! The command line.

mod run;
mod diff;
mod explain;
mod export;
mod fit;
mod lint;
mod serve;
mod plan;
mod top;
mod view;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, CommandFactory, Parser, Subcommand, ValueEnum};
use oomph_engine::recording::Known;
use oomph_engine::torch::profile::Version;
use oomph_launch::plan::subject::Subject;
use oomph_launch::program::Target;
use oomph_trace::Bytes;

pub(crate) use diff::Diff;
pub(crate) use explain::Explain;
pub(crate) use export::Export;
pub(crate) use fit::Fit;
pub(crate) use lint::{Form, Lint};
pub(crate) use plan::Plan;
pub(crate) use run::{Run, script_for_verb, set_script_apart};
pub(crate) use top::Top;
pub(crate) use view::View;

/// Why a CUDA job ran out of memory, and which change fixes it: proved by replaying the job's own allocations.
#[derive(Debug, Parser)]
#[command(
    name = "oomph",
    version,
    max_term_width = 80,
    before_help = "CUDA out of memory? Begin with one of these:
  oomph run train.py              run it again; if it runs out, say why
  oomph explain                   paste the error, then Ctrl-D on its own line
  oomph train.log                 the same, from what it printed
  oomph snapshot.pickle           the same, from a snapshot of PyTorch's
  oomph plan --gpu T4 train.py    will it fit? with no GPU, before it is run
  oomph fit --gpu T4 train.py     run it so that it fits
  oomph view snapshot.pickle      see it: over time, by address
  oomph status                    who holds the memory now?
  oomph top                       watch the jobs that run
  oomph demo                      see it on a recording of a real job",
    after_help = "A snapshot comes from PyTorch:
  torch.cuda.memory._record_memory_history(context=\"alloc\")  # at the start
  torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")  # at the end, or on OOM"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What every verb takes.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Common {
    /// Print JSON (schema 1) instead of text
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write the result to this file instead of standard output
    #[arg(short, long, global = true, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the output file if it exists
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) force: bool,
    /// Say nothing but the result
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Say on standard error what is being done
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// When to colour the text
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(crate) color: When,
}

/// When to use colour. `Auto`: on a terminal, unless NO_COLOR or TERM=dumb says otherwise.
// The variants have no documentation of their own: with it, clap spreads the help over several screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Why a job ran out of memory: from a snapshot, a log or a pasted message
    #[command(before_help = "Examples:
  oomph explain snapshot.pickle
  oomph explain train.log
  oomph explain .oomph/last --html why.html
  oomph explain -                  (then paste the error, and Ctrl-D)")]
    Explain(Explain),
    /// Run a script, record its memory cheaply, explain it if it runs out
    #[command(before_help = run::EXAMPLES, override_usage = run::USAGE, after_help = run::MORE)]
    Run(Run),
    /// Will a script fit on a card, and what would make it fit: with no GPU
    #[command(
        before_help = plan::EXAMPLES,
        mut_arg("command", |arg| arg.help("A script (.py) and its arguments").required_unless_present_any(["serve"])),
        override_usage = plan::USAGE,
        after_help = plan::MORE
    )]
    Plan(Plan),
    /// Run a script with the cheapest measures under which it fits, none of which changes its result
    #[command(
        before_help = fit::EXAMPLES,
        mut_arg("command", |arg| arg.help("A script (.py) and its arguments")),
        override_usage = fit::USAGE,
        after_help = fit::MORE
    )]
    Fit(Fit),
    /// Code that will run out of memory, found by reading it
    #[command(before_help = lint::EXAMPLES, after_help = lint::MORE)]
    Lint(Lint),
    /// Write the recording of a process under `oomph run`, which goes on
    #[command(before_help = "Example:
  oomph dump 4711       (then: oomph explain .oomph/last)")]
    Dump(Dump),
    /// Run a recording's allocations again, exactly or under other settings
    #[command(before_help = "Examples:
  oomph replay snapshot.pickle                  is the replay exact?
  oomph replay snapshot.pickle --limit 16GiB    what if the card were smaller?
  oomph replay snapshot.pickle --set expandable_segments:True")]
    Replay(Replay),
    /// Find the allocator settings that need the least memory
    #[command(before_help = "Examples:
  oomph tune snapshot.pickle
  oomph tune snapshot.pickle --limit 16GiB --all")]
    Tune(Tune),
    /// What a job needs more than before, and which lines ask for it
    #[command(before_help = diff::EXAMPLES, after_help = diff::MORE)]
    Diff(Diff),
    /// A recording for other programs: Perfetto, flame graphs, DuckDB
    #[command(before_help = export::EXAMPLES, override_usage = export::USAGE)]
    Export(Export),
    /// See memory in a browser: over time, by address, as recorded and as replayed
    #[command(before_help = view::EXAMPLES, after_help = view::MORE)]
    View(View),
    /// What a snapshot holds: devices, events, segments, stacks, settings
    #[command(before_help = "Example:
  oomph inspect snapshot.pickle")]
    Inspect(Inspect),
    /// Who holds this machine's memory at this moment, GPU and host
    #[command(before_help = "Examples:
  oomph status                 one screen
  oomph status --watch         the same, again and again
  oomph status --serve         for Prometheus, at http://127.0.0.1:9751/metrics")]
    Status(Status),
    /// Watch this machine's GPUs and the jobs under `oomph run`, in a terminal
    #[command(before_help = top::EXAMPLES, after_help = top::MORE)]
    Top(Top),
    /// What a rule of `explain` or `lint` means and what to do about it
    #[command(before_help = "Examples:
  oomph rule            all of them
  oomph rule OOM003     one of `explain`, with its cure
  oomph rule OOL001     one of `lint`")]
    Rule {
        /// Its number, such as OOM003; all are listed where none is given
        rule: Option<String>,
    },
    /// Let a coding agent ask: the verbs as tools, by the Model Context Protocol
    #[command(
        before_help = "Examples, in a shell or in the agent's own configuration:
  claude mcp add oomph -- oomph mcp
  {\"mcpServers\": {\"oomph\": {\"command\": \"oomph\", \"args\": [\"mcp\"]}}}",
        after_help = "The agent starts this itself and speaks with it over standard input and output.
Tools: explain, lint, plan, replay, tune, diff, status. `plan` runs the script it is asked about."
    )]
    Mcp,
    /// Explain, replay and fix an out-of-memory error of a real job, recorded on an H200
    Demo,
    /// Print a completion script for a shell
    #[command(before_help = "Example:
  oomph completions bash > ~/.local/share/bash-completion/completions/oomph")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(before_help = "Example:
  oomph man > ~/.local/share/man/man1/oomph.1")]
    Man,
}

/// Where the recording is and what the user knows of it.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Source {
    /// A memory snapshot (plain, gzip or zstd); `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The version of PyTorch that recorded it, where the file does not tell
    #[arg(long, value_name = "VERSION")]
    pub(crate) profile: Option<Version>,
}

impl Source {
    /// What the user knows of the recording, with the limit of its job where one is named.
    pub(crate) fn known(&self, limit: Option<Bytes>) -> Known {
        Known { version: self.profile, limit }
    }
}

/// What the user knows of recordings, where they do not tell.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Recorded {
    /// The version of PyTorch that recorded a snapshot, where the file does not tell
    #[arg(long, value_name = "VERSION")]
    profile: Option<Version>,
    /// The memory limit the job ran under, where the recording does not show it
    #[arg(long, value_name = "SIZE")]
    limit: Option<Bytes>,
}

impl Recorded {
    pub(crate) fn known(&self) -> Known {
        Known { version: self.profile, limit: self.limit }
    }
}

/// What to run: a script or a command, a module, or code.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Script {
    /// A script (.py) or a command, and its arguments
    #[arg(value_name = "SCRIPT", required_unless_present_any = ["module", "code"])]
    command: Vec<OsString>,
    /// Run a module, as `python -m` does
    #[arg(short = 'm', value_name = "MODULE", conflicts_with = "code")]
    module: Option<OsString>,
    /// Run this text, as `python -c` does
    #[arg(short = 'c', value_name = "CODE", allow_hyphen_values = true)]
    code: Option<OsString>,
}

impl Script {
    /// The script as it is tried without a GPU; of runs that take longer than so many seconds the rest is not seen.
    pub(crate) fn subject(
        &self,
        python: &Option<PathBuf>,
        settings: &[String],
        steps: Option<u64>,
        timeout: u64,
    ) -> Subject {
        let (target, args) = self.target();
        Subject {
            target,
            args: args.to_vec(),
            python: python.clone(),
            settings: settings.to_vec(),
            library: None,
            steps,
            longest: Duration::from_secs(timeout),
        }
    }

    /// What to run, and its arguments.
    pub(crate) fn target(&self) -> (Target, &[OsString]) {
        match (&self.module, &self.code, self.command.as_slice()) {
            (Some(module), _, args) => (Target::Module(module.clone()), args),
            (None, Some(code), args) => (Target::Code(code.clone()), args),
            (None, None, [word, args @ ..]) => (Target::Word(word.clone()), args),
            (None, None, []) => (Target::Word(OsString::new()), &[]),
        }
    }
}

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Change a setting, as in PYTORCH_CUDA_ALLOC_CONF; may be repeated
    #[arg(long = "set", value_name = "KEY:VALUE")]
    pub(crate) settings: Vec<String>,
    /// The memory limit: the job's own, where the recording does not show it, or another to try
    #[arg(long, value_name = "SIZE")]
    pub(crate) limit: Option<Bytes>,
}

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) source: Source,
    /// The memory the job should fit into
    #[arg(long, value_name = "SIZE")]
    pub(crate) limit: Option<Bytes>,
    /// Show every setting tried, not only the best
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Inspect {
    /// A memory snapshot (plain, gzip or zstd); `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Dump {
    /// The process, or the `oomph run` above it
    #[arg(value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) pid: i32,
    /// How long to wait for it
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) wait: u64,
}

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Status {
    /// Show it again every so many seconds, 2 if not said, until ^C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", conflicts_with = "serve")]
    pub(crate) watch: Option<f64>,
    /// Answer Prometheus at this address or port, 127.0.0.1:9751 if not said, until ^C
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:9751")]
    pub(crate) serve: Option<String>,
}

/// A mistake in the command line that clap cannot see.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// Makes `oomph FILE` mean `oomph explain FILE`: a first word that is not a verb but looks like a file
/// is explained. So is what is piped into `oomph` alone.
pub(crate) fn with_default_verb(words: impl Iterator<Item = OsString>, is_piped: bool) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.iter().skip(1).any(|word| ["-h", "--help", "-V", "--version"].iter().any(|flag| word == flag))
        && first_word(&words).is_none()
    {
        return words;
    }
    let first = first_word(&words).map(|at| words[at].to_string_lossy().into_owned());
    let explains = match first {
        None => is_piped,
        Some(word) => {
            let is_verb = Args::command().find_subcommand(&word).is_some() || word == "help";
            let looks_like_file = word == "-" || word.contains(['.', '/']) || PathBuf::from(&word).exists();
            !is_verb && looks_like_file
        }
    };
    if explains {
        words.insert(1, "explain".into());
    }
    words
}

/// Where the first word stands that is neither an option nor an option's value: the verb, or a file in its place.
/// Options may stand before both; those of `explain` belong to a file.
fn first_word(words: &[OsString]) -> Option<usize> {
    let mut command = Args::command();
    command.build();
    let explain = command.find_subcommand("explain")?;
    let mut at = 1;
    loop {
        let word = words.get(at)?.to_string_lossy();
        if !word.starts_with('-') || word == "-" {
            return Some(at);
        }
        if matches!(word.as_ref(), "-h" | "--help" | "-V" | "--version") {
            return None;
        }
        at += if run::option(explain, &word).is_some_and(|shape| shape.takes_next) { 2 } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_file_alone_is_explained() {
        let check = |words: &[&str], expected: &[&str]| {
            let words = std::iter::once("oomph").chain(words.iter().copied()).map(OsString::from);
            let expected: Vec<OsString> =
                std::iter::once("oomph").chain(expected.iter().copied()).map(OsString::from).collect();
            assert_eq!(with_default_verb(words, false), expected);
        };
        check(&["a.pickle", "--json"], &["explain", "a.pickle", "--json"]);
        check(&["--json", "a.pickle"], &["explain", "--json", "a.pickle"]);
        check(&["-o", "out.json", "a.pickle"], &["explain", "-o", "out.json", "a.pickle"]);
        check(&["-"], &["explain", "-"]);
        check(&["tune", "a.pickle"], &["tune", "a.pickle"]);
        check(&["tunr"], &["tunr"]);
        check(&["--help"], &["--help"]);
        check(&["help"], &["help"]);
        check(&["--html", "out.html", "a.pickle"], &["explain", "--html", "out.html", "a.pickle"]);
        let piped = |words: &[&str]| with_default_verb(words.iter().map(OsString::from), true);
        assert_eq!(piped(&["oomph"]), ["oomph", "explain"]);
        assert_eq!(piped(&["oomph", "--json"]), ["oomph", "explain", "--json"]);
        assert_eq!(piped(&["oomph", "--version"]), ["oomph", "--version"]);
        assert_eq!(piped(&["oomph", "demo"]), ["oomph", "demo"]);
    }
}
