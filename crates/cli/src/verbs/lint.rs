//! `oomph lint`.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use oomph_launch::lint_options::LintOptions;
use oomph_launch::members;
use oomph_launch::plan::subject::Subject;
use oomph_launch::program::Target;
use oomph_launch::prove::prover;
use oomph_lint::{FileResult, Rule};
use oomph_machine::python_files::{self, Request};
use oomph_report::{editors, json, text};

use crate::args::{Common, Form, Lint, UsageError};
use crate::output;

/// What a proof is about.
const ONE: &str = "--prove runs one script: name it, such as `oomph lint --prove train.py`";
/// Something was found.
const FOUND: u8 = 1;

/// Reads the files, says what is found, and exits with 1 where something is.
pub(crate) fn run(args: &Lint, common: &Common) -> Result<ExitCode> {
    let project = LintOptions::of_project(Path::new(&std::env::current_dir().unwrap_or_default()))
        .map_err(|error| UsageError(error.to_string()))?;
    let select = rules(if args.select.is_empty() { &project.select } else { &args.select })?;
    let ignore = rules(&[&project.ignore[..], &args.ignore[..]].concat())?;
    let exclude = [&project.exclude[..], &args.exclude[..]].concat();
    let is_wanted = |rule: Rule| (select.is_empty() || select.contains(&rule)) && !ignore.contains(&rule);
    let request = Request { is_wanted: &is_wanted, exclude: &exclude, fix: args.fix };
    let is_input = args.stdin || args.paths.iter().any(|path| path == Path::new("-"));
    let mut files = if is_input {
        if args.fix {
            return Err(UsageError("--fix changes files, and standard input is none".to_owned()).into());
        }
        let mut source = String::new();
        std::io::stdin().read_to_string(&mut source).context("cannot read standard input as a text")?;
        vec![python_files::of_text(&args.stdin_filename, &source, &request)]
    } else {
        python_files::read(&args.paths, &request).map_err(|error| UsageError(format!("{error:#}")))?
    };
    if args.prove {
        prove(args, common, &is_wanted, &mut files)?;
    }
    let form = if common.json { Form::Json } else { args.output_format };
    let shown = match form {
        Form::Text => text::lint::render(&files, output::colour(common)),
        Form::Json => json::printed(&json::lint(&files)),
        Form::Sarif => editors::sarif(&files, env!("CARGO_PKG_VERSION")),
        Form::Github => editors::github(&files),
    };
    output::write(&shown, common)?;
    Ok(code(&files, args.exit_zero))
}

/// Puts proofs to what was found in the one script that is named.
fn prove(
    args: &Lint,
    common: &Common,
    is_wanted: &dyn Fn(Rule) -> bool,
    files: &mut [FileResult],
) -> Result<()> {
    let ([script], [file]) = (args.paths.as_slice(), files) else {
        return Err(UsageError(ONE.to_owned()).into());
    };
    if script.extension().is_none_or(|suffix| suffix != "py") {
        return Err(UsageError(ONE.to_owned()).into());
    }
    // What could not be read is not run.
    if file.found.is_err() {
        return Ok(());
    }
    let source =
        std::fs::read_to_string(script).with_context(|| format!("cannot read {}", script.display()))?;
    let subject = Subject {
        target: Target::Word(script.clone().into()),
        args: args.args.clone(),
        python: args.python.clone(),
        settings: Vec::new(),
        library: None,
        steps: None,
        longest: Duration::from_secs(args.timeout),
    };
    let request = prover::Request { subject, script, source: &source, is_wanted, limit: args.limit };
    let say = |line: &str| output::remark(common, &format!("oomph: {line}"));
    let _listening = members::end_with_us()?;
    let printed = prover::prove(&request, file, &say).map_err(super::plan::usage)?;
    if !common.quiet {
        printed.iter().for_each(|line| output::complain(line));
    }
    Ok(())
}

/// 0 where nothing is found, 1 where something is, 2 where a file cannot be read.
fn code(files: &[FileResult], exit_zero: bool) -> ExitCode {
    if exit_zero {
        return ExitCode::SUCCESS;
    }
    if files.iter().any(|file| file.found.is_err()) {
        return ExitCode::from(crate::USAGE);
    }
    let is_found = files.iter().any(|file| file.found.as_ref().is_ok_and(|found| !found.is_empty()));
    if is_found { ExitCode::from(FOUND) } else { ExitCode::SUCCESS }
}

fn rules(ids: &[String]) -> Result<Vec<Rule>> {
    let read = |id: &String| {
        Rule::numbered(id)
            .ok_or_else(|| UsageError(format!("there is no rule `{id}`: `oomph rule` lists them")).into())
    };
    ids.iter().map(read).collect()
}
