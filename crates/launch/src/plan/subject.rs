//! The script that is tried on the phantom GPU, as the user names it, and what its runs need.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use super::phantom::{self, NoPhantom};
use super::trial::Stage;
use crate::folder::RunFolder;
use crate::job::{Job, PlanRequest};
use crate::program::{Missing, Program, Target};
use crate::settings::{self, Settings};

/// Events that are kept: those of some steps of a large model.
const RING: u64 = 2_000_000;

/// A script, and how it is tried.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The program.
    pub target: Target,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The interpreter, where the user insists on one.
    pub python: Option<PathBuf>,
    /// PyTorch's allocator settings.
    pub settings: Vec<String>,
    /// The phantom's library, where the caller's own package has one.
    pub library: Option<PathBuf>,
    /// Optimizer steps to run; `None`: until the peak stands still.
    pub steps: Option<u64>,
    /// How long one run may take.
    pub longest: Duration,
}

/// A script that cannot be tried.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// No such program.
    #[error(transparent)]
    Program(#[from] Missing),
    /// No such script.
    #[error("{0}: not found")]
    Script(String),
    /// PyTorch would refuse the settings.
    #[error(transparent)]
    Settings(#[from] oomph_engine::torch::options::OptionError),
    /// There is nothing to run it on.
    #[error(transparent)]
    Phantom(#[from] NoPhantom),
}

impl Subject {
    /// The script as a plan runs it.
    pub(crate) fn job(&self) -> Result<Job, SubjectError> {
        let program = Program::find(&self.target, &self.args, self.python.as_deref())?;
        let first = program.args.first().map(PathBuf::from);
        let missing =
            first.filter(|word| word.extension().is_some_and(|suffix| suffix == "py") && !word.exists());
        if let Some(script) = missing {
            return Err(SubjectError::Script(script.display().to_string()));
        }
        Ok(Job {
            settings: Settings::checked(&self.settings, &settings::in_force())?,
            frameworks: Vec::new(),
            limit: None,
            card: None,
            ring: RING,
            resume: None,
            phantom: None,
            plan: Some(PlanRequest { steps: self.steps, ..PlanRequest::default() }),
            measures: None,
            program,
        })
    }

    /// The folder of its runs and what they stand on. `whose` recordings these are is said where none can be written.
    pub(crate) fn set_up(&self, job: &Job, whose: &str) -> Result<(RunFolder, Stage)> {
        let folder = std::env::current_dir()
            .and_then(|here| RunFolder::create(&here, job))
            .with_context(|| format!("cannot write .oomph/ here, where {whose} recordings go"))?;
        let library = phantom::find(self.library.as_deref(), &folder.hook).map_err(SubjectError::from)?;
        Ok((folder, Stage { library, longest: self.longest }))
    }
}
