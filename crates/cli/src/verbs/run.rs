//! `oomph run`.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use oomph_host::run::aftermath::{self, Aftermath, Talk};
use oomph_host::run::child::{Ended, Outcome, Signals};
use oomph_host::run::configuration::{Asked, ConfigurationError};
use oomph_host::run::folder::{HOME, RunFolder};
use oomph_host::run::plan::{Plan, RING};
use oomph_host::run::pressure::Pressure;
use oomph_host::run::program::{Missing, Program};
use oomph_host::run::settings::{Frameworks, Settings, in_force};
use oomph_trace::cards::card_named;

use crate::args::{Common, Run};
use crate::output;

/// oomph itself failed before the child ran.
const OURS: u8 = 125;

/// Why nothing was started: the exit code and the line.
struct Refusal(u8, String);

impl Refusal {
    fn usage(error: &impl ToString) -> Refusal {
        Refusal(2, error.to_string())
    }
}

pub(crate) fn run(args: &Run, common: &Common) -> ExitCode {
    match start(args, common) {
        Ok(ended) => ExitCode::from(ended.exit_code()),
        Err(Refusal(code, line)) => {
            output::complain(&format!("oomph: {line}"));
            ExitCode::from(code)
        }
    }
}

fn start(args: &Run, common: &Common) -> Result<Ended, Refusal> {
    if common.json || common.output.is_some() {
        let line = "standard output is the script's own: for JSON or a file, use `oomph explain .oomph/last` after it";
        return Err(Refusal::usage(&line));
    }
    // What is no text is no setting.
    let variables =
        std::env::vars_os().filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok()));
    let by_variables = Asked::of_variables(variables).map_err(|error| Refusal::usage(&error))?;
    let asked = args.asked().over(by_variables.over(of_project()?));
    let had = in_force(|name| std::env::var(name).ok());
    let plan = plan(args, &asked, &had)?;
    let mut signals =
        Signals::listen().map_err(|error| Refusal(OURS, format!("cannot listen for signals: {error}")))?;
    if !asked.record.unwrap_or(true) {
        if plan.limit.is_some() || plan.card.is_some() {
            output::complain("oomph: running without the limit: it takes the recorder, which is off");
        }
        return Ok(once(&mut signals, &plan, None, &had)?.ended);
    }
    let (ended, after) = recorded(&mut signals, &plan, &had, common)?;
    if !(asked.retry.unwrap_or(false) && after.ran_out) {
        return Ok(ended);
    }
    retry(&mut signals, plan, &after, ended, &had, common)
}

/// One run, about which nothing is said.
fn once(
    signals: &mut Signals,
    plan: &Plan,
    folder: Option<&RunFolder>,
    had: &str,
) -> Result<Outcome, Refusal> {
    signals.run(&mut command(plan, folder, had)).map_err(|error| cannot_start(plan, &error))
}

/// One run, and what is said of it.
fn recorded(
    signals: &mut Signals,
    plan: &Plan,
    had: &str,
    common: &Common,
) -> Result<(Ended, Aftermath), Refusal> {
    let folder = folder(plan);
    let before = Pressure::read();
    let outcome = once(signals, plan, folder.as_ref(), had)?;
    let Some(folder) = folder else { return Ok((outcome.ended, Aftermath::default())) };
    let talk = match (common.quiet, common.verbose) {
        (true, _) => Talk::Quiet,
        (false, true) => Talk::Verbose,
        (false, false) => Talk::Normal,
    };
    let after = aftermath::of_run(&folder, outcome, &before, talk, output::colour_of_errors(common));
    output::complain_text(&after.text);
    Ok((outcome.ended, after))
}

/// Runs once more with the settings that a replay showed to help. What was piped in is gone and cannot be given again.
fn retry(
    signals: &mut Signals,
    mut plan: Plan,
    after: &Aftermath,
    ended: Ended,
    had: &str,
    common: &Common,
) -> Result<Ended, Refusal> {
    let Some(fix) = &after.fix else {
        output::complain("oomph: not run again: no setting is known to help");
        return Ok(ended);
    };
    if output::is_piped_into() {
        output::complain("oomph: not run again: its standard input was a pipe or a file, and is used up");
        return Ok(ended);
    }
    let Ok(settings) = Settings::checked(std::slice::from_ref(fix), had) else { return Ok(ended) };
    plan.settings = plan.settings.with(&settings);
    output::complain(&format!("oomph: running once more with {fix}"));
    Ok(recorded(signals, &plan, had, common)?.0)
}

/// What pyproject.toml asks for. One that cannot be read is not ours to judge, and does not keep the script from running.
fn of_project() -> Result<Asked, Refusal> {
    let Ok(here) = std::env::current_dir() else { return Ok(Asked::default()) };
    match Asked::of_project(&here) {
        Ok(asked) => Ok(asked),
        Err(error @ ConfigurationError::Unreadable { .. }) => {
            output::complain(&format!("oomph: {error}; running without its [tool.oomph.run]"));
            Ok(Asked::default())
        }
        Err(error) => Err(Refusal::usage(&error)),
    }
}

fn plan(args: &Run, asked: &Asked, had: &str) -> Result<Plan, Refusal> {
    let (target, rest) = args.target();
    let settings = Settings::checked(&asked.set, had).map_err(|error| Refusal::usage(&error))?;
    let card = asked.gpu.as_deref().map(card_named).transpose().map_err(|error| Refusal::usage(&error))?;
    let program = Program::find(&target, rest, asked.python.as_deref())
        .map_err(|error: Missing| Refusal(error.exit_code(), error.to_string()))?;
    Ok(Plan {
        program,
        settings,
        frameworks: Frameworks {
            preallocate: asked.preallocate,
            mem_fraction: asked.mem_fraction,
            growth: asked.growth.unwrap_or(false),
            async_allocator: asked.async_allocator.unwrap_or(false),
        },
        limit: asked.limit,
        card,
        ring: asked.ring.unwrap_or(RING),
        planned: None,
    })
}

/// The run's folder. Where none can be made, the script runs all the same.
fn folder(plan: &Plan) -> Option<RunFolder> {
    let made = std::env::current_dir().and_then(|here| RunFolder::create(&here, plan));
    made.map_err(|error| {
        let unlimited =
            if plan.limit.is_some() || plan.card.is_some() { " and without the limit" } else { "" };
        output::complain(&format!(
            "oomph: cannot write {HOME}/ here ({error}): running without recording{unlimited}"
        ));
    })
    .ok()
}

fn command(plan: &Plan, folder: Option<&RunFolder>, had: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(&plan.program.path);
    command.arg0(&plan.program.called).args(&plan.program.args).envs(plan.variables(folder, had));
    command
}

fn cannot_start(plan: &Plan, error: &io::Error) -> Refusal {
    let name = Path::new(&plan.program.called).display();
    let code = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => OURS,
        _ => 126,
    };
    Refusal(code, format!("{name}: cannot be started: {error}"))
}
