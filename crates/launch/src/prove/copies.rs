//! Runs of copies of a script, which stay in the folder of the proof. The copy runs in the script's place: under its
//! name, with its arguments, beside the modules it imports.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use oomph_machine::trust;
use oomph_trace::Bytes;
use oomph_trace::cards::{Card, card_named};

use crate::folder::RunFolder;
use crate::job::{Job, PlanRequest};
use crate::plan::subject::Subject;
use crate::plan::trial::{Prints, Stage, Trial, output_of};

/// The card that the phantom is: it stands for most of the cards that a plan knows.
const CARD: &str = "L4";
/// What runs a copy, in the folder of the recorder.
const RUNNER: &str = "_oomph_plan/as_script.py";
/// The most that is shown of what a script printed before it failed.
const SHOWN_LINES: usize = 20;

/// What all runs of a proof share.
pub(super) struct Copies {
    job: Job,
    folder: RunFolder,
    stage: Stage,
    card: Card,
    /// The script, absolute.
    script: PathBuf,
}

impl Copies {
    pub(super) fn of(subject: &Subject, script: &Path, limit: Option<Bytes>) -> Result<Copies> {
        let mut job = subject.job()?;
        job.plan = Some(PlanRequest { to_the_end: true, ..PlanRequest::default() });
        job.limit = limit;
        let (folder, stage) = subject.set_up(&job, "the proof's")?;
        let script = script.canonicalize().with_context(|| format!("cannot read {}", script.display()))?;
        Ok(Copies { job, folder, stage, card: card_named(CARD)?.clone(), script })
    }

    /// Runs a text in the script's place, in a folder of this name.
    pub(super) fn run(&self, name: &str, text: &str) -> io::Result<Trial> {
        let folder = self.folder.within(name, &self.job)?;
        let copy = folder.path.join(self.script.file_name().unwrap_or_default());
        trust::write_whole(&copy, text.as_bytes())?;
        let mut job = self.job.clone();
        let given = job.program.args.iter().skip(1).cloned();
        let runner: OsString = folder.hook.join(RUNNER).into();
        job.program.args =
            [runner, copy.into(), self.script.clone().into()].into_iter().chain(given).collect();
        self.stage.run(&job, &folder, &self.card, Prints::ToFile)
    }

    /// The end of what the script printed in a run of this name.
    pub(super) fn printed(&self, name: &str) -> Vec<String> {
        let folder = RunFolder { path: self.folder.path.join(name), ..self.folder.clone() };
        let text = trust::read_bounded(&output_of(&folder), 16 << 20).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].iter().map(|line| (*line).to_owned()).collect()
    }
}
