//! A program to run, and everything it is run with.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use oomph_engine::torch::variables::{CUDA, GENERAL};
use oomph_trace::Bytes;
use oomph_trace::cards::Card;

use crate::folder::RunFolder;
use crate::plan::PlanRequest;
use crate::program::Program;
use crate::protocol;
use crate::settings::{Frameworks, Settings};

/// How many events the recorder keeps, where nothing else is said.
pub const RING: u64 = 300_000;

/// A run, before it starts.
#[derive(Clone, Debug)]
pub struct Job {
    /// What to start.
    pub program: Program,
    /// PyTorch's allocator settings.
    pub settings: Settings,
    /// Those of the other frameworks' allocators.
    pub frameworks: Frameworks,
    /// The memory to run with.
    pub limit: Option<Bytes>,
    /// The card whose memory to run with.
    pub card: Option<&'static Card>,
    /// How many events the recorder keeps.
    pub ring: u64,
    /// What `oomph plan` needs of the process, where this is a plan.
    pub plan: Option<PlanRequest>,
}

impl Job {
    /// The command to start: `folder` where it is recorded, `had` what the user's variable of PyTorch's says.
    pub fn command(&self, folder: Option<&RunFolder>, had: &str) -> Command {
        let mut command = Command::new(&self.program.path);
        command.arg0(&self.program.called).args(&self.program.args).envs(self.variables(had));
        if let Some(folder) = folder {
            command.envs(protocol::variables(folder));
        }
        command
    }

    /// The variables of the frameworks' allocators.
    fn variables(&self, had: &str) -> Vec<(&'static str, OsString)> {
        let mut variables = self.frameworks.variables();
        if !self.settings.is_empty() {
            // PyTorch 2.9 knows only the first; later ones obey it where both are set.
            let merged = self.settings.merged_into(had);
            variables.extend([CUDA, GENERAL].map(|name| (name, OsString::from(&merged))));
        }
        variables
    }
}
