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
/// Exit code of a plan, a fit or a comparison that came to no answer.
const UNTOLD: u8 = 3;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Err(error) = args::script_for_verb(&words) {
        output::complain(&format!("oomph: {error}"));
        return ExitCode::from(USAGE);
    }
    let words = args::with_default_verb(words.into_iter(), output::is_piped_into());
    let args = Args::parse_from(args::set_script_apart(words));
    let done = |()| ExitCode::SUCCESS;
    let result = match &args.verb {
        Verb::Explain(verb) => verbs::explain::run(verb, &args.common).map(done),
        // Its exit code is the script's own.
        Verb::Run(verb) => Ok(verbs::run::run(verb, &args.common)),
        // Its exit code is the answer.
        Verb::Plan(verb) => match &verb.serve.serve {
            Some(config) => verbs::serve::run(config, verb, &args.common),
            None => verbs::plan::run(verb, &args.common),
        },
        // Its exit code is the script's own, or the answer.
        Verb::Fit(verb) => verbs::fit::run(verb, &args.common),
        // Its exit code says whether something was found.
        Verb::Lint(verb) => verbs::lint::run(verb, &args.common),
        Verb::Dump(verb) => verbs::dump::run(verb, &args.common).map(done),
        Verb::Replay(verb) => verbs::replay::run(verb, &args.common).map(done),
        Verb::Tune(verb) => verbs::tune::run(verb, &args.common).map(done),
        // Its exit code says whether it grew by more than is allowed.
        Verb::Diff(verb) => verbs::diff::run(verb, &args.common),
        Verb::Export(verb) => verbs::export::run(verb, &args.common).map(done),
        Verb::View(verb) => verbs::view::run(verb, &args.common).map(done),
        Verb::Inspect(verb) => verbs::inspect::run(verb, &args.common).map(done),
        Verb::Status(verb) => verbs::status::run(verb, &args.common).map(done),
        Verb::Top(verb) => verbs::top::run(verb, &args.common).map(done),
        Verb::Rule { rule } => verbs::rule::run(rule.as_deref(), &args.common).map(done),
        Verb::Mcp => verbs::mcp::run(&args.common).map(done),
        Verb::Demo => verbs::demo::run(&args.common).map(done),
        Verb::Completions { shell } => verbs::generate::completions(*shell, &args.common).map(done),
        Verb::Man => verbs::generate::man(&args.common).map(done),
    };
    result.unwrap_or_else(|error| {
        // The reader of our output has seen enough, which is not a failure.
        if output::is_closed_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        output::complain(&format!("oomph: {error:#}"));
        ExitCode::from(match (error.is::<args::UsageError>(), &args.verb) {
            (true, _) => USAGE,
            (false, Verb::Plan(_) | Verb::Fit(_) | Verb::Diff(_)) => UNTOLD,
            // As other linters: 1 is for findings.
            (false, Verb::Lint(_)) => USAGE,
            (false, _) => UNREADABLE,
        })
    })
}
