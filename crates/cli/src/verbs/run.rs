//! `oomph run`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use oomph_diagnose::results::run::RunResult;
use oomph_launch::again::{Next, Tries, Wanted};
use oomph_launch::child::{Ended, Outcome, Signals};
use oomph_launch::configuration::Configuration;
use oomph_launch::fit::ladder::Ladder;
use oomph_launch::folder::RunFolder;
use oomph_launch::job::{Job, PlanRequest, RING, ResumeRequest};
use oomph_launch::measures::Measures;
use oomph_launch::plan::{cards, phantom};
use oomph_launch::pressure::Pressure;
use oomph_launch::program::{Missing, Program};
use oomph_launch::project::ConfigurationError;
use oomph_launch::settings::{Settings, in_force};
use oomph_launch::{aftermath, command};
use oomph_machine::run_folder::{HOME, LAST, Progress};
use oomph_report::text::run::Talk;
use oomph_report::{json, text};
use oomph_trace::cards::card_named;

use crate::args::{Common, Run};
use crate::output;

/// The card that is not there, where none is named.
const PHANTOM: &str = "H200";

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
    code(start(args, common))
}

/// Runs a job that is made already, and says what is found of it.
pub(crate) fn of_job(job: &Job, common: &Common) -> ExitCode {
    let ended = listen().and_then(|mut signals| recorded(&mut signals, job, &in_force(), common));
    code(ended.map(|(ended, _)| ended))
}

fn listen() -> Result<Signals, Refusal> {
    Signals::listen().map_err(|error| Refusal(OURS, format!("cannot listen for signals: {error}")))
}

/// The exit code: the child's own, or why there is none, which is said.
fn code(ended: Result<Ended, Refusal>) -> ExitCode {
    match ended {
        Ok(ended) => ExitCode::from(ended.exit_code()),
        Err(Refusal(code, line)) => {
            output::complain(&format!("oomph: {line}"));
            ExitCode::from(code)
        }
    }
}

fn start(args: &Run, common: &Common) -> Result<Ended, Refusal> {
    if let Some(path) = common.output.as_deref().filter(|path| path.exists() && !common.force) {
        let line = format!("{} exists: pass --force to overwrite it", path.display());
        return Err(Refusal::usage(&line));
    }
    // A variable that is not valid text cannot be a setting.
    let variables =
        std::env::vars_os().filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok()));
    let by_variables = Configuration::of_variables(variables).map_err(|error| Refusal::usage(&error))?;
    let configuration = args.configuration().over(by_variables.over(of_project()?));
    let had = in_force();
    let mut job = job(args, &configuration, &had)?;
    let mut signals = listen()?;
    if !configuration.record.unwrap_or(true) {
        if job.phantom.is_some() {
            let line =
                "--phantom takes the recorder, which is off: leave out record = false and OOMPH_RECORD";
            return Err(Refusal::usage(&line));
        }
        if job.limit.is_some() || job.card.is_some() {
            output::complain("oomph: running without the limit: it takes the recorder, which is off");
        }
        if job.resume.is_some() {
            output::complain("oomph: running without --resume: it takes the recorder, which is off");
        }
        return Ok(once(&mut signals, &job, None, &had)?.ended);
    }
    let mut tries = Tries::new(Wanted::of(configuration.retry, configuration.resume));
    let mut ladder = Ladder::new(&job);
    // For this command line `oomph fit` may know an answer.
    let as_asked = job.clone();
    loop {
        let (ended, found) = recorded(&mut signals, &job, &had, common)?;
        let Some(Found { result, progress, folder }) = found else { return Ok(ended) };
        let take = |setting| ladder.next(&as_asked, &folder, setting);
        let next = if signals.was_asked_to_end() { Next::End } else { tries.next(&result, progress, take) };
        if !again(next, &mut job, &had) {
            return Ok(ended);
        }
        job.resume = job.resume.map(|resume| ResumeRequest { restarts: tries.restarts(), ..resume });
    }
}

/// Says what follows, and changes the job for it; whether it is started again. What was piped in is gone and cannot be
/// given again.
fn again(next: Next, job: &mut Job, had: &str) -> bool {
    let (line, change) = match next {
        Next::End => return false,
        Next::Refuse(line) => {
            output::complain(&format!("oomph: {line}"));
            return false;
        }
        Next::Again { line, change } => (line, change),
    };
    if output::is_piped_into() {
        output::complain("oomph: not run again: its standard input was a pipe or a file, and is used up");
        return false;
    }
    if let Some(change) = change {
        if let Some(fix) = change.settings {
            let Ok(settings) = Settings::checked(&[fix], had) else { return false };
            job.settings = job.settings.with(&settings);
        }
        if let Some((asked, args)) = change.program {
            job.measures = Some(asked);
            job.program.args = args;
        }
    }
    output::complain(&format!("oomph: {line}"));
    true
}

/// One run, about which nothing is said.
fn once(signals: &mut Signals, job: &Job, folder: Option<&RunFolder>, had: &str) -> Result<Outcome, Refusal> {
    let mut command = command::of(job, folder, had);
    if let Some((card, folder)) = job.phantom.zip(folder) {
        let library = phantom::find(None, &folder.hook).map_err(|error| Refusal(OURS, error.to_string()))?;
        command.envs(phantom::variables(&library, &cards::phantom(card)));
    }
    signals.run(&mut command).map_err(|error| cannot_start(job, &error))
}

/// What a run left.
struct Found {
    result: RunResult,
    /// How far it got, where that was noted.
    progress: Option<Progress>,
    /// Where it lies.
    folder: PathBuf,
}

/// One run, and what is found of it; `None` where it could not be recorded.
fn recorded(
    signals: &mut Signals,
    job: &Job,
    had: &str,
    common: &Common,
) -> Result<(Ended, Option<Found>), Refusal> {
    let folder = folder(job)?;
    let before = Pressure::read();
    let outcome = once(signals, job, folder.as_ref(), had)?;
    let Some(folder) = folder else { return Ok((outcome.ended, None)) };
    let result = aftermath::of_run(&folder, outcome, &before);
    show(&result, common)?;
    let progress = Progress::of_run(&folder.path);
    Ok((outcome.ended, Some(Found { result, progress, folder: folder.path })))
}

/// Says what was found. Standard output is the script's own, so that goes to standard error, or to the file named.
fn show(result: &RunResult, common: &Common) -> Result<(), Refusal> {
    let talk = match (common.quiet, common.verbose) {
        (true, _) => Talk::Quiet,
        (false, true) => Talk::Verbose,
        (false, false) => Talk::Normal,
    };
    let text = if common.json {
        json::document(vec![json::run(result)])
    } else {
        let colour = output::colour_of_errors(common);
        let home = result.folder.parent().unwrap_or(Path::new(HOME));
        text::run::render(result, &home.join(LAST).display().to_string(), talk, colour)
    };
    match &common.output {
        Some(path) => {
            output::write_file(path, &text, true).map_err(|error| Refusal(OURS, format!("{error:#}")))
        }
        None => {
            output::complain_text(&text);
            Ok(())
        }
    }
}

/// What pyproject.toml asks for. One that cannot be read is not ours to judge, and does not keep the script from running.
fn of_project() -> Result<Configuration, Refusal> {
    let Ok(here) = std::env::current_dir() else { return Ok(Configuration::default()) };
    match Configuration::of_project(&here) {
        Ok(asked) => Ok(asked),
        Err(error @ ConfigurationError::Unreadable { .. }) => {
            output::complain(&format!("oomph: {error}; running without its [tool.oomph.run]"));
            Ok(Configuration::default())
        }
        Err(error) => Err(Refusal::usage(&error)),
    }
}

fn job(args: &Run, configuration: &Configuration, had: &str) -> Result<Job, Refusal> {
    let (target, rest) = args.script.target();
    let settings = Settings::checked(&configuration.set, had).map_err(|error| Refusal::usage(&error))?;
    let card =
        configuration.gpu.as_deref().map(card_named).transpose().map_err(|error| Refusal::usage(&error))?;
    let phantom = args.phantom.then(|| card.map_or_else(|| card_named(PHANTOM), Ok));
    let phantom = phantom.transpose().map_err(|error| Refusal::usage(&error))?;
    let program = Program::find(&target, rest, configuration.python.as_deref())
        .map_err(|error: Missing| Refusal(error.exit_code(), error.to_string()))?;
    Ok(Job {
        program,
        settings,
        frameworks: configuration.frameworks(),
        limit: configuration.limit,
        card: card.filter(|_| phantom.is_none()),
        ring: configuration.ring.unwrap_or(RING),
        phantom,
        resume: configuration.resume.map(|_| ResumeRequest { restarts: 0, since_us: now_us() }),
        plan: phantom.map(|_| PlanRequest { to_the_end: true, ..PlanRequest::default() }),
        // Without any, the process tells what could be changed the next time.
        measures: configuration.resume.map(|_| Measures::default()),
    })
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The run's folder. Where none can be made, the script runs all the same: unless that would be on the real card, although
/// it was asked to run on none.
fn folder(job: &Job) -> Result<Option<RunFolder>, Refusal> {
    let made = std::env::current_dir().and_then(|here| RunFolder::create(&here, job));
    let error = match made {
        Ok(folder) => return Ok(Some(folder)),
        Err(error) => error,
    };
    if job.phantom.is_some() {
        let line = format!(
            "cannot write {HOME}/ here ({error}), which --phantom needs: run it in a folder that can be written to"
        );
        return Err(Refusal(OURS, line));
    }
    let unlimited = if job.limit.is_some() || job.card.is_some() { " and without the limit" } else { "" };
    output::complain(&format!(
        "oomph: cannot write {HOME}/ here ({error}): running without recording{unlimited}"
    ));
    Ok(None)
}

fn cannot_start(job: &Job, error: &io::Error) -> Refusal {
    let name = Path::new(&job.program.called).display();
    let code = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => OURS,
        _ => 126,
    };
    Refusal(code, format!("{name}: cannot be started: {error}"))
}
