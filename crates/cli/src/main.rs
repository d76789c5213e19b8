//! The `oomph` command.

mod args;
mod output;
mod verbs;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Verb};

/// Exit code of an input that cannot be read.
const UNREADABLE: u8 = 1;
/// Exit code of a command line that makes no sense.
const USAGE: u8 = 2;
/// Exit code of a plan that came to no answer.
const UNTOLD: u8 = 3;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Err(error) = args::script_for_verb(&words) {
        output::complain(&format!("oomph: {error}"));
        return ExitCode::from(USAGE);
    }
    let words = args::with_default_verb(words.into_iter(), output::is_piped_into());
    let args = Args::parse_from(args::set_script_apart(words));
    let result = match &args.verb {
        Verb::Explain(verb) => verbs::explain::run(verb, &args.common),
        // Its exit code is the script's own.
        Verb::Run(verb) => return verbs::run::run(verb, &args.common),
        // Its exit code is the answer.
        Verb::Plan(verb) => match verbs::plan::run(verb, &args.common) {
            Ok(code) => return code,
            Err(error) if output::is_closed_pipe(&error) => return ExitCode::SUCCESS,
            Err(error) => {
                let usage = error.downcast_ref::<args::UsageError>().is_some();
                output::complain(&format!("oomph: {error:#}"));
                return ExitCode::from(if usage { USAGE } else { UNTOLD });
            }
        },
        Verb::Dump(verb) => verbs::dump::run(verb, &args.common),
        Verb::Replay(verb) => verbs::replay::run(verb, &args.common),
        Verb::Tune(verb) => verbs::tune::run(verb, &args.common),
        Verb::Inspect(verb) => verbs::inspect::run(verb, &args.common),
        Verb::Status(verb) => verbs::status::run(verb, &args.common),
        Verb::Rule { rule } => verbs::rule::run(rule.as_deref(), &args.common),
        Verb::Demo => verbs::demo::run(&args.common),
        Verb::Completions { shell } => verbs::generate::completions(*shell, &args.common),
        Verb::Man => verbs::generate::man(&args.common),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of our output has seen enough, which is not a failure.
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let usage = error.downcast_ref::<args::UsageError>().is_some();
            output::complain(&format!("oomph: {error:#}"));
            ExitCode::from(if usage { USAGE } else { UNREADABLE })
        }
    }
}
