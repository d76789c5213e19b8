//! One run of the script on the phantom GPU, and what it left.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use oomph_diagnose::place::place_seen;
use oomph_engine::recording::{Known, Recording};
use oomph_report::plan::PlannedPeaks;
use oomph_trace::sidecar::SeenFrame;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cards::Asked;
use super::phantom;
use crate::input;
use crate::run::folder::{self, RunFolder};
use crate::run::notes::Notes;
use crate::run::plan::Plan;

/// How often a child is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a child has to write its recording when it is told to end.
const GRACE: Duration = Duration::from_secs(10);

/// Where what the script prints goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prints {
    /// To our standard error: standard output is the plan's.
    ToUser,
    /// Into its folder.
    ToFile,
}

/// A question of the script that a phantom cannot answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What was asked: `item`, `nonzero`, …
    pub kind: String,
    /// Where.
    pub file: String,
    /// Where in it.
    pub line: u32,
    /// How often.
    pub count: u64,
    /// For a length: the most bytes that depend on it.
    pub bytes: u64,
}

/// What a run left.
#[derive(Debug)]
pub struct Traced {
    /// Its folder.
    pub folder: PathBuf,
    /// What PyTorch counted.
    pub peaks: Option<PlannedPeaks>,
    /// Its allocations.
    pub recording: Option<Recording<'static>>,
    /// Optimizer steps that were seen.
    pub steps: u64,
    /// Why the run was stopped by itself: `repeats`, `steps`, `time`.
    pub stopped: Option<String>,
    /// The line that waits for gradients.
    pub backward: Option<(String, u32)>,
    /// Questions that were answered with an invented value.
    pub questions: Vec<Question>,
    /// What was done otherwise than the script asks.
    pub remarks: Vec<String>,
    /// Why the script failed, if it did: the exception's class and text.
    pub failure: Option<(String, String)>,
}

/// Runs the script once. `seconds`: how long it may take.
pub fn run(
    plan: &Plan,
    folder: &RunFolder,
    library: &std::path::Path,
    card: &Asked,
    prints: Prints,
    seconds: u64,
) -> io::Result<Traced> {
    use std::os::unix::process::CommandExt;
    let had = crate::run::settings::in_force(|name| std::env::var(name).ok());
    let mut command = Command::new(&plan.program.path);
    command
        .arg0(&plan.program.called)
        .args(&plan.program.args)
        .envs(plan.variables(Some(folder), &had))
        .envs(phantom::variables(library, card))
        .stdin(Stdio::null());
    match prints {
        Prints::ToUser => {
            command.stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
        }
        Prints::ToFile => {
            let file = File::create(folder.path.join("output.txt"))?;
            command.stdout(Stdio::from(file.try_clone()?)).stderr(Stdio::from(file));
        }
    }
    let mut child = command.spawn()?;
    let code = wait(&mut child, Duration::from_secs(seconds))?;
    Ok(read(folder, code, seconds))
}

/// The child's exit code; `None` where it took too long and was ended.
fn wait(child: &mut Child, longest: Duration) -> io::Result<Option<i32>> {
    let began = Instant::now();
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if told { None } else { Some(status.code().unwrap_or(-1)) });
        }
        let passed = began.elapsed();
        if passed > longest && !told {
            told = true;
            // It may be gone by now, which is as well.
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
        }
        if passed > longest + GRACE {
            child.kill()?;
        }
        thread::sleep(LOOK);
    }
}

/// What lies in the folder. Of several processes, the one that held most.
fn read(folder: &RunFolder, code: Option<i32>, seconds: u64) -> Traced {
    let notes = Notes::of_run(&folder.path);
    let held = |notes: &Notes| notes.said.devices.first().and_then(|card| card.stats.peak_reserved);
    let main = notes.iter().max_by_key(|notes| held(notes));
    let mut traced = Traced {
        folder: folder.path.clone(),
        peaks: None,
        recording: None,
        steps: 0,
        stopped: None,
        backward: None,
        questions: Vec::new(),
        remarks: Vec::new(),
        failure: None,
    };
    if let Some(main) = main {
        let stats = main.said.devices.first().map(|card| &card.stats);
        traced.peaks = stats.and_then(|stats| {
            Some(PlannedPeaks {
                requested: stats.peak_requested?,
                allocated: stats.peak_allocated?,
                reserved: stats.peak_reserved?,
            })
        });
        let path = folder.path.join(format!("{}.json", main.name));
        let said: Value = std::fs::read(path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        of_plan(&mut traced, &said["plan"]);
        traced.steps = steps(&said);
        let recording = folder::of_failure(&folder.path.join(format!("{}.json", main.name))).last();
        traced.recording = recording
            .and_then(|path| input::snapshot(&path).ok())
            .and_then(|snapshot| input::recordings(snapshot, Known::default()).into_iter().next());
    }
    let failed = notes.iter().filter(|notes| notes.said.exception.is_some());
    let exception =
        failed.min_by_key(|notes| notes.failed_us()).and_then(|notes| notes.said.exception.clone());
    traced.failure = match (code, exception) {
        (Some(0), _) => None,
        (None, _) => {
            traced.stopped = Some("time".to_owned());
            (traced.steps == 0)
                .then(|| ("Timeout".to_owned(), format!("no step was done within {seconds} s")))
        }
        (Some(_), Some(exception)) => {
            Some((exception.class.unwrap_or_default(), exception.text.unwrap_or_default()))
        }
        (Some(code), None) => Some(("exit".to_owned(), format!("exit code {code}"))),
    };
    traced
}

/// The number of the last step that was marked.
fn steps(said: &Value) -> u64 {
    let marks = said["marks"].as_array().into_iter().flatten();
    marks.filter(|mark| mark[1] == "step").filter_map(|mark| mark[2].as_u64()).max().unwrap_or(0)
}

fn of_plan(traced: &mut Traced, said: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |value: &Value| value.as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or_default();
    traced.stopped = said["stopped"]["why"].as_str().map(str::to_owned);
    let place = |noted: &Value| {
        let frames = noted["frames"].as_array().into_iter().flatten().map(|frame| SeenFrame {
            file: text(&frame["filename"]),
            line: line(&frame["line"]),
            function: text(&frame["name"]),
        });
        let found = place_seen(&frames.collect::<Vec<_>>())?;
        Some((found.line.file, found.line.line))
    };
    traced.backward = place(&said["backward"]);
    let asked = said["asked"].as_array().into_iter().flatten();
    traced.questions = asked
        .map(|row| {
            let (file, line) = place(row).unwrap_or_default();
            let count = row["count"].as_u64().unwrap_or_default();
            let bytes = row["bytes"].as_u64().unwrap_or_default();
            Question { kind: text(&row["kind"]), file, line, count, bytes }
        })
        .collect();
    traced.remarks = said["remarks"].as_array().into_iter().flatten().map(text).collect();
}
