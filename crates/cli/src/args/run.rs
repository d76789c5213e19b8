//! The command line of `oomph run`. Everything after the script's name belongs to the script.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args as ClapArgs, Command, CommandFactory};
use oomph_launch::configuration::Configuration;
use oomph_trace::Bytes;

use super::{Args, Script, UsageError};

pub(super) const EXAMPLES: &str = "Examples:
  oomph run train.py --lr 1e-4
  oomph run --limit 15GiB -m pkg.train         as with less memory
  oomph run torchrun --nproc-per-node 2 train.py";
pub(super) const USAGE: &str = "oomph run [OPTIONS] SCRIPT|-m MODULE|-c CODE|COMMAND [ARGS]...";
pub(super) const MORE: &str =
    "Everything after the script's name belongs to the script. Its exit code is passed on.
Recordings go to .oomph/; `oomph explain .oomph/last` explains the last run.
Options may also be set by variables (OOMPH_LIMIT=15GiB) and kept in pyproject.toml,
under [tool.oomph.run] (limit = \"15GiB\").";

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) script: Script,
    /// Set one of PyTorch's allocator settings, beside those you have; may be repeated
    #[arg(long = "set", value_name = "KEY:VALUE", help_heading = "Memory")]
    pub(crate) settings: Vec<String>,
    /// Run as with so much GPU memory
    #[arg(long, value_name = "SIZE", help_heading = "Memory")]
    pub(crate) limit: Option<Bytes>,
    /// Run as on this card, such as T4 or A100-80
    #[arg(long, value_name = "NAME", conflicts_with = "limit", help_heading = "Memory")]
    pub(crate) gpu: Option<String>,
    /// Run on a card that is not there: no GPU is needed, memory is as on the card (H200, or --gpu), results are not
    #[arg(long, conflicts_with_all = ["no_record", "retry"], help_heading = "Memory")]
    pub(crate) phantom: bool,
    /// After running out of memory, run once more with the setting that replay showed to help
    #[arg(long, value_parser = BoolishValueParser::new(), num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_name = "BOOL", hide_possible_values = true, help_heading = "Memory")]
    pub(crate) retry: Option<bool>,
    /// Start a job again, up to N times, that died of memory or was killed: from its last good checkpoint
    #[arg(long, value_name = "N", conflicts_with_all = ["phantom", "no_record"], help_heading = "Memory",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) resume: Option<u64>,
    /// Whether JAX takes most of the card at the start
    #[arg(long, value_parser = BoolishValueParser::new(), value_name = "BOOL", hide_possible_values = true,
        help_heading = "JAX and TensorFlow")]
    pub(crate) preallocate: Option<bool>,
    /// The share of the card that JAX may take, such as 0.9
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "JAX and TensorFlow")]
    pub(crate) mem_fraction: Option<f64>,
    /// TensorFlow takes memory as it needs it
    #[arg(long, action = ArgAction::SetTrue, help_heading = "JAX and TensorFlow")]
    pub(crate) growth: bool,
    /// TensorFlow allocates through cudaMallocAsync
    #[arg(long, action = ArgAction::SetTrue, help_heading = "JAX and TensorFlow")]
    pub(crate) async_allocator: bool,
    /// Keep the last N events of each process
    #[arg(long, value_name = "N", help_heading = "Recording",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) ring: Option<u64>,
    /// Record nothing; only apply settings
    #[arg(long, conflicts_with_all = ["limit", "gpu", "ring", "retry"], help_heading = "Recording")]
    pub(crate) no_record: bool,
    /// The Python to run scripts with, instead of the active environment's
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "write a share of the card, above 0 and up to 1".to_owned())
}

impl Run {
    /// What flags say.
    pub(crate) fn configuration(&self) -> Configuration {
        Configuration {
            set: self.settings.clone(),
            limit: self.limit,
            gpu: self.gpu.clone(),
            ring: self.ring,
            retry: self.retry,
            resume: self.resume,
            record: self.no_record.then_some(false),
            python: self.python.clone(),
            preallocate: self.preallocate,
            mem_fraction: self.mem_fraction,
            growth: self.growth.then_some(true),
            async_allocator: self.async_allocator.then_some(true),
        }
    }
}

/// Puts `--` where the words of `oomph run`, `plan` or `fit` end and those of the script begin, so that none of the script's own are
/// taken for ours. What is not understood is left as it is, for clap to complain about.
pub(crate) fn set_script_apart(mut words: Vec<OsString>) -> Vec<OsString> {
    let Some(verb) = super::first_word(&words) else { return words };
    let name = words[verb].to_string_lossy().into_owned();
    if !["run", "plan", "fit"].contains(&name.as_str()) {
        return words;
    }
    if let Some(at) = script(&words, &name, verb + 1) {
        words.insert(at, "--".into());
    }
    words
}

/// Where the script's own words begin.
fn script(words: &[OsString], verb: &str, from: usize) -> Option<usize> {
    let mut command = Args::command();
    command.build();
    let run = command.find_subcommand(verb)?;
    let mut at = from;
    while let Some(word) = words.get(at).map(|word| word.to_string_lossy().into_owned()) {
        if word == "--" {
            return None;
        }
        if !word.starts_with('-') || word == "-" {
            return Some(at);
        }
        let Shape { ends_ours, takes_next } = option(run, &word)?;
        at += if takes_next { 2 } else { 1 };
        if ends_ours {
            return Some(at.min(words.len()));
        }
    }
    None
}

/// What a word that begins with `-` is.
pub(super) struct Shape {
    /// What follows belongs to the script: `-m` and `-c`.
    ends_ours: bool,
    /// Its value is the next word.
    pub(super) takes_next: bool,
}

pub(super) fn option(verb: &Command, word: &str) -> Option<Shape> {
    let takes = |arg: &clap::Arg| {
        arg.get_action().takes_values() && arg.get_num_args().is_none_or(|count| count.min_values() > 0)
    };
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        let arg = verb.get_arguments().find(|arg| arg.get_long() == Some(name))?;
        return Some(Shape { ends_ours: false, takes_next: takes(arg) && !long.contains('=') });
    }
    let cluster = word.strip_prefix('-')?;
    for (index, letter) in cluster.char_indices() {
        let arg = verb.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
        if takes(arg) {
            let is_last = index + letter.len_utf8() == cluster.len();
            return Some(Shape { ends_ours: matches!(letter, 'm' | 'c'), takes_next: is_last });
        }
    }
    Some(Shape { ends_ours: false, takes_next: false })
}

/// Refuses a script in the place of a verb. It could be explained as a text, but the user wants to run it.
pub(crate) fn script_for_verb(words: &[OsString]) -> Result<(), UsageError> {
    let word = super::first_word(words).map(|at| PathBuf::from(&words[at]));
    match word.filter(|word| word.extension().is_some_and(|suffix| suffix == "py") && word.is_file()) {
        None => Ok(()),
        Some(script) => {
            let script = script.display();
            Err(UsageError(format!("{script} is a script: run it with `oomph run {script}`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &[&str]) {
        let all = |words: &[&str]| -> Vec<OsString> {
            std::iter::once("oomph").chain(words.iter().copied()).map(OsString::from).collect()
        };
        assert_eq!(set_script_apart(all(words)), all(expected));
    }

    #[test]
    fn what_follows_the_script_is_the_scripts_own() {
        check(&["run", "train.py", "--limit", "1"], &["run", "--", "train.py", "--limit", "1"]);
        check(
            &["run", "--limit", "1GiB", "train.py", "-q"],
            &["run", "--limit", "1GiB", "--", "train.py", "-q"],
        );
        check(&["run", "--limit=1GiB", "t.py"], &["run", "--limit=1GiB", "--", "t.py"]);
        check(&["run", "--retry", "t.py"], &["run", "--retry", "--", "t.py"]);
        check(&["run", "-q", "t.py"], &["run", "-q", "--", "t.py"]);
        check(&["-q", "run", "t.py", "--help"], &["-q", "run", "--", "t.py", "--help"]);
        check(&["run", "-m", "pkg.mod", "-m", "x"], &["run", "-m", "pkg.mod", "--", "-m", "x"]);
        check(&["run", "-mpkg", "-v"], &["run", "-mpkg", "--", "-v"]);
        check(&["run", "-qm", "pkg", "-v"], &["run", "-qm", "pkg", "--", "-v"]);
        check(&["run", "-c", "print(1)", "--x"], &["run", "-c", "print(1)", "--", "--x"]);
        check(&["run", "--", "t.py", "--x"], &["run", "--", "t.py", "--x"]);
        check(&["run", "-o", "out", "t.py"], &["run", "-o", "out", "--", "t.py"]);
        check(&["run", "--limt", "1", "t.py"], &["run", "--limt", "1", "t.py"]);
        check(&["run", "--help"], &["run", "--help"]);
        check(&["run", "-m"], &["run", "-m", "--"]);
        check(&["explain", "run", "x"], &["explain", "run", "x"]);
        check(
            &["plan", "--gpu", "T4", "--vary", "--batch", "t.py", "--batch", "8"],
            &["plan", "--gpu", "T4", "--vary", "--batch", "--", "t.py", "--batch", "8"],
        );
    }
}
