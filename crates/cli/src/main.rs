//! The `oomph` command.

mod args;
mod output;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Verb};

/// Exit code of an input that cannot be read; 2 is a usage error.
const UNREADABLE: u8 = 1;

fn main() -> ExitCode {
    let args = Args::parse_from(args::with_default_verb(std::env::args_os(), output::is_piped_into()));
    let result = match &args.verb {
        Verb::Explain(verb) => verbs::explain::run(verb, &args.common),
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
        // Whoever reads our output has seen enough: that is no failure.
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let usage = error.downcast_ref::<args::UsageError>().is_some();
            output::complain(&format!("oomph: {error:#}"));
            ExitCode::from(if usage { 2 } else { UNREADABLE })
        }
    }
}
